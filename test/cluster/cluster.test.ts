import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../battery/client.ts'
import { createLedger } from '../battery/ledger.ts'
import { createPlace, type Place, readAudit } from '../battery/place.ts'
import { createEmptyDatabase, hasPostgres } from '../postgres.ts'
import { type ClusterNode, createNodes } from './node.ts'
import { waitUntil, whyMissing } from './programs.ts'
import { type HaProxy, startHaproxy } from './proxy.ts'
import { restartInTurn } from './restart-in-turn.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { startTraffic } from './traffic.ts'

const missing = hasPostgres() ? whyMissing('haproxy', 'openssl') : 'there is no PostgreSQL'
const newRootKey = () => randomBytes(32).toString('hex')

it.skipIf(!hasPostgres())('five nodes start at once on an empty database', async () => {
  const nodes = await createNodes(5, {
    TABBAT_DATABASE_URL: await createEmptyDatabase(),
    TABBAT_ROOT_KEY: newRootKey(),
    TABBAT_LOG_LEVEL: 'silent',
  })
  await Promise.all(nodes.map(({ start }) => start()))
  const ready = await Promise.all(nodes.map(({ url }) => fetch(`${url}/health/ready?strict`)))
  expect(ready.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(await Promise.all(nodes.map(({ stop }) => stop()))).toEqual([0, 0, 0, 0, 0])
})

describe('two nodes behind HAProxy', () => {
  if (missing !== undefined) return void it.skip(`are not tested: ${missing}`)
  let network: TcpProxy
  let place: Place
  let nodes: ClusterNode[]
  let proxy: HaProxy
  beforeAll(async () => {
    const url = new URL(await createEmptyDatabase())
    network = await startTcpProxy({ host: url.hostname, port: Number(url.port) })
    place = await createPlace({ TABBAT_DATABASE_URL: url.href, TABBAT_ROOT_KEY: newRootKey() })
    nodes = await createNodes(2, {
      ...place.settings,
      TABBAT_DATABASE_URL: Object.assign(url, { host: `127.0.0.1:${network.port}` }).href,
      // HAProxy needs at most 1.5 s to notice that a node is not ready.
      TABBAT_SHUTDOWN_DELAY: '3s',
    })
    await Promise.all(nodes.map(({ start }) => start()))
    proxy = await startHaproxy(nodes.map(({ address }) => address))
  })
  afterAll(async () => {
    await Promise.all(nodes.map(({ kill }) => kill()))
    await proxy.program.stop('SIGKILL')
    await network.close()
  })

  it('are restarted in turn under load without a failed request', async () => {
    const ledger = createLedger()
    const traffic = startTraffic(proxy, place, ledger, { ways: 8 })
    await traffic.untilAnswered(100)
    expect(await restartInTurn(nodes, proxy)).toEqual([0, 0])
    await traffic.untilAnswered(100)
    await traffic.stop()
    expect([traffic.failures(), traffic.seen.falseAnswers]).toEqual([{}, []])
    expect(ledger.findFaults(await readAudit(place))).toEqual([])
  })

  it('answer look-ups, and verifications with our 503, while the database is unreachable', async () => {
    const client = createClient(4, proxy.ca)
    const headers = { authorization: `Bearer ${place.keys.live}` }
    const verify = () =>
      client.post(`${proxy.url}/api/v2/kyc/verify-nin`, { nin: '41000000000', phone: '08031234567' }, headers)
    const lookUp = () => client.get(`${proxy.url}/api/v2/sme-data/list`, headers)
    // Each node has seen the key.
    for (let each = 0; each < 4; each++) expect((await verify()).status).toBe(200)
    network.set('refuse')
    await waitUntil('no node passes the strict check', async () => (await proxy.countUp()) === 0)
    expect(await proxy.countUp('tabbat_degraded')).toBe(2)
    for (let each = 0; each < 4; each++) {
      const { status, body, headers: sent } = await verify()
      expect([status, JSON.parse(body).code, sent['retry-after']]).toEqual([503, 'audit_unavailable', '5'])
      expect((await lookUp()).status).toBe(200)
    }
    network.set('pass')
    await waitUntil('verifications are answered', async () => (await verify()).status === 200)
    client.close()
  })
})
