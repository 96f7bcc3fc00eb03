import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../process/tabbat.ts'
import { type ClusterNode, createNodes } from './node.ts'
import { waitUntil } from './programs.ts'

/** What an operator changes holds on every node within this time. */
const SOON_MS = 5000

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
})
