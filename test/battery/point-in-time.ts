import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { createNodes } from '../cluster/node.ts'
import { whyNoPatroni } from '../cluster/patroni.ts'
import type { Member } from '../cluster/patroni-member.ts'
import { waitUntil, whyMissing } from '../cluster/programs.ts'
import { execute } from '../postgres.ts'
import { tabbat } from '../process/tabbat.ts'
import { createPlace, findAuditFaults, PHONE, readAudit, toNin } from './place.ts'
import { type ArchivedCluster, startArchivedCluster } from './point-in-time-setup.ts'

/**
 * Brings a cluster back to a moment, as docs/production.md says: Patroni, deploy/pgbackrest/pgbackrest.conf, a node of Tabbat.
 * npm run battery:point-in-time
 */
const say = (line: string) =>
  void process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`)

const DATABASE = 'tabbat'
const VERIFICATIONS = 20

// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const missing = whyNoPatroni() ?? whyMissing('pgbackrest', 'patronictl')
if (missing !== undefined) say(`The battery of the point in time is skipped: ${missing}`)
else await main()
process.exit()

async function main(): Promise<void> {
  const cluster = await startArchivedCluster()
  try {
    const faults = await play(cluster)
    for (const fault of faults) say(fault)
    say(faults.length === 0 ? 'The cluster was back at the moment, and worked.' : 'It failed.')
    if (faults.length > 0) process.exitCode = 1
  } finally {
    await cluster.stop()
  }
}

async function play(cluster: ArchivedCluster): Promise<string[]> {
  const { pgbackrest } = cluster
  const primary = await cluster.leader()
  const { place, node } = await startNode(cluster, primary)
  const verify = () => verifyOnce(node.url, place.keys.live)

  pgbackrest(primary, 'stanza-create')
  pgbackrest(primary, 'check')
  pgbackrest(primary, '--type=full', 'backup')
  const kept = await repeat(VERIFICATIONS, verify)
  const moment = await readMoment(cluster, primary)
  const dropped = await repeat(VERIFICATIONS, verify)
  // Waits until the log up to now is in the repository.
  pgbackrest(primary, 'check')
  await node.stop()

  say(`back to ${moment}`)
  const startedAt = performance.now()
  await returnTo(cluster, primary, moment)
  say(`a primary and a synchronous standby after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)

  const there = new Set((await readAudit(place)).map((row) => String(row.request_reference)))
  const isRefused = await node.start().then(
    () => false,
    () => true,
  )
  const { code, stdout, stderr } = await tabbat(node.settings, 'audit', 'accept-loss', '--yes', '--json')
  const { accepted = [] } = JSON.parse(stdout || '{}') as { accepted?: { references: string[] }[] }
  const named = new Set(accepted.flatMap(({ references }) => references))
  await node.start()
  const after = await verify()
  pgbackrest(await cluster.leader(), 'check')
  pgbackrest(await cluster.leader(), '--type=incr', 'backup')
  const count = (answers: readonly Answer[], known: ReadonlySet<string>) =>
    answers.filter(({ reference }) => known.has(reference)).length
  return [
    ...[kept, dropped, after].flat().flatMap(({ status }) => (status === 200 ? [] : [`answered ${status}`])),
    ...expected('verifications before the moment that are there', count(kept, there), VERIFICATIONS),
    ...expected('verifications after the moment that are there', count(dropped, there), 0),
    ...expected('missing references that accept-loss names', count(dropped, named), VERIFICATIONS),
    ...(isRefused ? [] : ['the node started before the loss was accepted']),
    ...(code === 0 ? [] : [`accept-loss ended with ${code}: ${stderr}`]),
    ...expected('the exit code of the node', (await node.stop()) ?? -1, 0),
    ...(await findAuditFaults(node)),
  ]
}

/** The time now, in a later second than the end of the backup: pgBackRest counts in whole seconds. */
async function readMoment(cluster: ArchivedCluster, primary: Member): Promise<string> {
  const [stanza] = JSON.parse(cluster.pgbackrest(primary, 'info', '--output=json'))
  const endedAt = Number(stanza.backup.at(-1).timestamp.stop)
  let moment = ''
  await waitUntil('a later second', async () => {
    const sql = 'SELECT clock_timestamp()::text AS moment, extract(epoch FROM clock_timestamp()) AS seconds'
    const [row] = await execute(toUrl(cluster, primary), sql)
    moment = String(row?.moment)
    return Number(row?.seconds) >= endedAt + 1
  })
  return moment
}

function expected(what: string, is: number, wanted: number): string[] {
  return is === wanted ? [] : [`${what}: ${is} instead of ${wanted}`]
}

function toUrl(cluster: ArchivedCluster, { port }: Member): string {
  return cluster.toUrl(`127.0.0.1:${port}`, DATABASE)
}

async function startNode(cluster: ArchivedCluster, primary: Member) {
  await cluster.createDatabase(DATABASE)
  const place = await createPlace({
    TABBAT_DATABASE_URL: toUrl(cluster, primary),
    TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
  })
  const hosts = cluster.members.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const url = `${cluster.toUrl(hosts, DATABASE)}?target_session_attrs=read-write`
  const [node] = await createNodes(1, { ...place.settings, TABBAT_DATABASE_URL: url })
  if (!node) throw new Error('no node')
  await node.start()
  return { place, node }
}

/** The steps of docs/production.md. */
async function returnTo(cluster: ArchivedCluster, server: Member, moment: string): Promise<void> {
  const { members, pgbackrest, run } = cluster
  for (const member of members) await member.stop()
  pgbackrest(server, '--delta', '--type=time', `--target=${moment}`, '--target-action=promote', 'restore')
  const pgCtl = (...args: string[]) => run(server, 'pg_ctl', ['-D', server.dataDir, '-w', ...args])
  pgCtl('-l', `${server.dataDir}.log`, 'start')
  await waitUntil('the server is promoted', async () => {
    const [state] = await execute(toUrl(cluster, server), 'SELECT pg_is_in_recovery() AS is_recovering')
    return state?.is_recovering === false
  })
  pgCtl('stop')
  const patroni = resolve('deploy/patroni/patroni.yaml')
  run(server, 'patronictl', ['-c', patroni, 'remove', 'tabbat'], 'tabbat\nYes I am aware\n')
  server.start()
  await waitUntil('a primary', async () => Boolean(await cluster.leader()), 60_000)
  for (const member of members) if (member !== server) member.replace()
  await cluster.untilSynchronous()
}

type Answer = { readonly status: number; readonly reference: string }

async function verifyOnce(url: string, key: string): Promise<Answer> {
  const reply = await fetch(`${url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ nin: toNin(1), phone: PHONE }),
  })
  const { data } = (await reply.json()) as { data?: { request_reference?: string } }
  return { status: reply.status, reference: data?.request_reference ?? '' }
}

async function repeat<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let index = 0; index < times; index++) results.push(await work())
  return results
}
