import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCertificate, type TestCertificate } from '../certificate.ts'
import { findFreePort } from '../free-port.ts'
import { execute } from '../postgres.ts'
import {
  account,
  createMember,
  type Member,
  type MemberEnvironment,
  newFolder,
  PASSWORD,
  sendToPatroni,
  signalIfThere,
  whyNoMember,
} from './patroni-member.ts'
import { runInBackground, waitUntil, whyMissing } from './programs.ts'

/** Two members and etcd, with deploy/patroni/patroni.yaml. */
export type PatroniCluster = {
  readonly members: readonly [Member, Member]
  /** The variables with which Patroni reaches etcd. */
  readonly etcd: Readonly<Record<string, string>>
  readonly leader: () => Promise<Member>
  readonly standby: () => Promise<Member>
  /** A primary, and a standby on whose disk every commit is before it is confirmed, and which has all of the primary. */
  readonly untilSynchronous: () => Promise<void>
  readonly switchOver: () => Promise<void>
  readonly createDatabase: (name: string) => Promise<void>
  /** The address of a database at this host and port. */
  readonly toUrl: (hosts: string, name: string) => string
  readonly stop: () => Promise<void>
}

export const whyNoPatroni = () =>
  whyMissing('patroni', 'etcd', 'haproxy', 'openssl') ?? whyNoMember() ?? whyNoModules()

/** What Patroni imports for an etcd with certificates. Debian only recommends the second, and Patroni waits for etcd without it. */
function whyNoModules(): string | undefined {
  const { status } = spawnSync('/usr/bin/python3', ['-c', 'import etcd, idna'])
  return status === 0 ? undefined : 'not installed: python3-etcd or python3-idna'
}

type Answer = {
  readonly members: readonly { readonly name: string; readonly role: string; readonly state: string }[]
}

export async function startPatroni(toEnvironment: MemberEnvironment = () => ({})): Promise<PatroniCluster> {
  const folder = newFolder(mkdtempSync(join(tmpdir(), 'tabbat-patroni-')))
  const etcd = await startEtcd(newFolder(join(folder, 'etcd')))
  const members = [
    await createMember(folder, 1, etcd.environment, toEnvironment),
    await createMember(folder, 2, etcd.environment, toEnvironment),
  ] as const
  const withOutput = (error: unknown) => {
    throw new Error([error, ...members.map(({ output }) => output())].join('\n\n'))
  }
  for (const member of members) {
    member.start()
    const runs = async () => isRunning(await readCluster(members), member.name)
    await waitUntil(`${member.name} runs`, runs, 60_000).catch(withOutput)
  }
  // Patroni leaves its PostgreSQL running when it is killed.
  process.once('exit', () => {
    for (const { pid } of members) signalIfThere(pid(), 'SIGKILL')
  })
  const find = async (pattern: RegExp) => {
    const { members: list } = await readCluster(members)
    const name = list.find(({ role, state }) => pattern.test(role) && /running|streaming/.test(state))?.name
    const found = members.find((member) => member.name === name)
    if (!found) throw new Error(`no ${pattern.source}`)
    return found
  }
  const leader = () => find(/^leader$/)
  const toUrl = (hosts: string, name: string) => `postgres://postgres:${PASSWORD}@${hosts}/${name}`
  return {
    members,
    etcd: etcd.environment,
    leader,
    standby: () => find(/^sync_standby$/),
    untilSynchronous: () =>
      waitUntil(
        'a synchronous standby',
        async () => {
          const [primary] = await Promise.all([leader(), find(/^sync_standby$/)])
          return hasCaughtUp(toUrl(`127.0.0.1:${primary.port}`, 'postgres'))
        },
        90_000,
      ).catch(withOutput),
    switchOver: async () => {
      const member = await leader()
      await sendToPatroni(member, 'POST', 'switchover', { leader: member.name })
    },
    createDatabase: async (name) => {
      const { port } = await leader()
      await execute(toUrl(`127.0.0.1:${port}`, 'postgres'), `CREATE DATABASE ${name}`)
    },
    toUrl,
    stop: async () => {
      for (const member of members) await member.kill('machine')
      await etcd.program.stop('SIGKILL')
    },
  }
}

/** Whether the synchronous standby streams, and has replayed what the primary had written a moment before. */
async function hasCaughtUp(url: string): Promise<boolean> {
  const [before] = await execute(url, 'SELECT pg_current_wal_flush_lsn()::text AS lsn')
  const [standby] = await execute(
    url,
    `SELECT count(*)::int AS count FROM pg_stat_replication
     WHERE state = 'streaming' AND sync_state = 'sync' AND replay_lsn >= '${before?.lsn}'::pg_lsn`,
  )
  return standby?.count === 1
}

/** With the v2 API of deploy/patroni/patroni.yaml, and for clients with its certificate only, as in docs/production.md. */
async function startEtcd(folder: string) {
  const [client, peer] = [`127.0.0.1:${await findFreePort()}`, `http://127.0.0.1:${await findFreePort()}`]
  const url = `https://${client}`
  const certificate = createCertificate()
  // The certificate is its own authority.
  const [cert, key] = [join(folder, 'etcd.crt'), join(folder, 'etcd.key')]
  writeFileSync(cert, certificate.cert)
  writeFileSync(key, certificate.key, { mode: 0o600 })
  if (account.uid !== undefined && account.gid !== undefined) chownSync(key, account.uid, account.gid)
  const options = {
    'data-dir': join(folder, 'data'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    'cert-file': cert,
    'key-file': key,
    'trusted-ca-file': cert,
  }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const program = runInBackground('etcd', ['--enable-v2=true', '--client-cert-auth', ...args], account)
  await waitUntil('etcd answers', async () => (await askEtcd(client, certificate)) === 200).catch((error) => {
    throw new Error(`${error}\n\n${program.output()}`)
  })
  const environment = {
    PATRONI_ETCD_HOSTS: client,
    PATRONI_ETCD_CACERT: cert,
    PATRONI_ETCD_CERT: cert,
    PATRONI_ETCD_KEY: key,
  }
  return { program, environment }
}

/** The status of its answer to a client with this certificate. */
export const askEtcd = (
  address: string,
  certificate?: Pick<TestCertificate, 'cert' | 'key'>,
): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(
      `https://${address}/v2/keys/`,
      { ...certificate, agent: false, rejectUnauthorized: false },
      (response) => resolve(response.resume().statusCode),
    ).on('error', reject)
  })

/** From whichever Patroni answers. */
async function readCluster(members: readonly Member[]): Promise<Answer> {
  for (const { restPort } of members)
    try {
      const signal = AbortSignal.timeout(2000)
      return (await (await fetch(`http://127.0.0.1:${restPort}/cluster`, { signal })).json()) as Answer
    } catch {
      // The next one may answer.
    }
  throw new Error('no Patroni answers')
}

const isRunning = ({ members }: Answer, name: string) =>
  members.some((member) => member.name === name && /running|streaming/.test(member.state))
