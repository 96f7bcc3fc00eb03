import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCertificate } from '../certificate.ts'
import { askEtcd, type PatroniCluster, startPatroni, whyNoPatroni } from './patroni.ts'
import { AUTHORIZATION, type Member, sendToPatroni } from './patroni-member.ts'

const missing = whyNoPatroni()

/** The status that Patroni answers with. */
const ask = (
  { restPort }: Member,
  method: string,
  path: string,
  from: { readonly localAddress?: string; readonly headers?: Record<string, string> } = {},
): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const options = { ...from, method, host: '127.0.0.1', port: restPort, path, agent: false }
    request(options, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end('{}')
  })

/** Whoever may do one of these runs commands as postgres. */
const CHANGES = [
  ['PATCH', '/config'],
  ['PUT', '/config'],
  ['POST', '/restart'],
  ['POST', '/reload'],
  ['POST', '/reinitialize'],
  ['POST', '/switchover'],
  ['POST', '/failover'],
] as const

describe('Patroni and etcd with the configuration in deploy/ and the variables of docs/production.md', () => {
  if (missing !== undefined) return void it.skip(`are not tested: ${missing}`)
  let cluster: PatroniCluster
  let leader: Member
  beforeAll(async () => {
    cluster = await startPatroni()
    leader = await cluster.leader()
  })
  afterAll(() => cluster?.stop())

  it('have the variables of the page', () => {
    const page = readFileSync('docs/production.md', 'utf8')
    const onPage = [...page.matchAll(/^(PATRONI_\w+)=/gm)].map(([, name]) => name)
    const here = Object.keys(leader.environment).filter((name) => name.startsWith('PATRONI_'))
    expect(onPage.toSorted()).toEqual(here.toSorted())
  })

  it('tell everybody who the primary is', async () => {
    const paths = ['/primary', '/patroni', '/cluster']
    expect(await Promise.all(paths.map((path) => ask(leader, 'GET', path)))).toEqual([200, 200, 200])
    expect(await ask(leader, 'OPTIONS', '/primary')).toBe(200)
  })

  it.each(CHANGES)('refuse %s %s without the password', async (method, path) => {
    expect(await ask(leader, method, path)).toBe(401)
  })

  it.each(CHANGES)('refuse %s %s from a machine that is no member', async (method, path) => {
    const from = { localAddress: '127.0.0.2', headers: { authorization: AUTHORIZATION } }
    expect(await ask(leader, method, path, from)).toBe(403)
  })

  it('let a member with the password change settings', async () => {
    await sendToPatroni(leader, 'PATCH', 'config', { loop_wait: 2 })
  })

  it('let no client without a certificate of the authority read etcd', async () => {
    const address = cluster.etcd.PATRONI_ETCD_HOSTS ?? ''
    await expect(askEtcd(address)).rejects.toThrow(/certificate|alert|ECONNRESET/)
    await expect(askEtcd(address, createCertificate())).rejects.toThrow(/certificate|alert|ECONNRESET/)
    await expect(fetch(`http://${address}/v2/keys/`)).rejects.toThrow('fetch failed')
  })
})
