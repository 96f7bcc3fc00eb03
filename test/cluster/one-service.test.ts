import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../process/tabbat.ts'
import { type ClusterNode, createNodes } from './node.ts'
import { waitUntil } from './programs.ts'

/** What an operator changes holds on every node within this time. */
const SOON_MS = 5000
/** In a row, they open a breaker. */
const FAILURES = 5
const FIRST_NIN = 82_000_000_000

type Report = { readonly operation: string; readonly figures?: { readonly state: string } }

describe.skipIf(!hasPostgres())('what is changed at one of two nodes holds at both', () => {
  let vendor: StandIn
  let nodes: ClusterNode[]
  beforeAll(async () => {
    vendor = await openStandIn(dojah)
    nodes = await createNodes(2, {
      ...vendor.settings,
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_DATABASE_URL: await createTestDatabase(),
      TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
      TABBAT_LOG_LEVEL: 'silent',
    })
    await Promise.all(nodes.map(({ start }) => start()))
  })
  afterAll(async () => {
    await Promise.all(nodes.map(({ kill }) => kill()))
    await vendor.close()
  })

  const run = async (...args: string[]) => {
    const { code, stdout } = await tabbat((nodes[0] as ClusterNode).settings, ...args)
    expect(code).toBe(0)
    return stdout
  }
  const askAll = (path: string, key = '') =>
    Promise.all(nodes.map(({ url }) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } })))

  it('a revoked key', async () => {
    const made = await run('keys', 'create', '--name', 'x', '--mode', 'test', '--json')
    const { key, id } = JSON.parse(made) as { key: string; id: string }
    const list = async () => (await askAll('/api/v2/sme-data/list', key)).map(({ status }) => status)
    expect(await list()).toEqual([200, 200])
    await run('keys', 'revoke', id)
    await waitUntil(
      'both refuse the key',
      async () => (await list()).every((status) => status === 401),
      SOON_MS,
    )
  })

  it('a disabled source', async () => {
    const readStates = async () => {
      const ready = await Promise.all((await askAll('/health/ready')).map((response) => response.json()))
      return ready.map((body) => (body as { sources: { dojah: string } }).sources.dojah)
    }
    const wait = (state: string) =>
      waitUntil(state, async () => (await readStates()).every((each) => each === state), SOON_MS)
    expect(await readStates()).toEqual(['ok', 'ok'])
    await run('sources', 'disable', 'dojah')
    await wait('disabled')
    await run('sources', 'enable', 'dojah')
    await wait('ok')
  })

  it('an open breaker is shown at both; each node decides for itself, since its own network may be at fault', async () => {
    const scopes = ['--mode', 'live', '--scope', 'kyc:nin']
    const { key } = JSON.parse(await run('keys', 'create', '--name', 'y', ...scopes, '--json'))
    const verify = async (node: number, nin: string) => {
      const answer = await fetch(`${nodes[node]?.url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ nin, phone: `0${toPhoneCoreOf(nin)}` }),
      })
      return answer.status
    }
    vendor.fail('failing')
    for (let index = 0; index < FAILURES; index++)
      expect(await verify(0, String(FIRST_NIN + index))).toBe(503)
    vendor.fail(undefined)
    const states = async () => {
      const reports: Report[] = JSON.parse(await run('sources', 'status', '--json'))
      const nin = reports.filter(({ operation }) => operation === 'verify_nin')
      return nin.map(({ figures }) => figures?.state === 'closed').toSorted()
    }
    await expect.poll(states).toEqual([false, true])
    const before = vendor.count()
    expect([await verify(1, String(FIRST_NIN)), vendor.count() - before]).toEqual([200, 1])
  })
})
