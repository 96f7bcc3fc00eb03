import { afterEach, describe, expect, it } from 'vitest'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '12345678901'
const PHONE = `0${toPhoneCoreOf(NIN)}`
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const openVendor = async (script = dojah): Promise<StandIn> => {
  const vendor = await openStandIn(script)
  opened.push(vendor)
  return vendor
}

const newDatabase = async (engine: string): Promise<Record<string, string>> =>
  engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}

/** A server on a real socket. `ask` sends the same verification again, under a header. */
async function openNode(settings: Record<string, string>) {
  const server = await openTestApp({ TABBAT_NIN_SOURCES: 'dojah', ...settings })
  opened.push(server)
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const ask = async (key: string, header?: string) => {
    const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: {
        ...bearer(key),
        'content-type': 'application/json',
        ...(header === undefined ? {} : { 'idempotency-key': header }),
      },
      body: JSON.stringify({ nin: NIN, phone: PHONE }),
    })
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body }
  }
  return { ...server, ask, key: await server.createKey({ mode: 'live' }) }
}
type Body = { readonly code?: string; readonly retryable?: boolean; readonly message: string }
type Answer = Awaited<ReturnType<Awaited<ReturnType<typeof openNode>>['ask']>>

const brief = ({ status, body: { code, retryable } }: Answer) => `${status} ${code} ${retryable}`
const USED_UP = /budget of paid calls of this Idempotency-Key is used up.* use a new Idempotency-Key\.$/

const lastAttempts = async ({ context }: TestApp) => {
  const rows = await context.store.audit.bySubject(context.toSubjectHash('nin', NIN))
  const sources = rows.findLast(({ phase }) => phase === 'outcome')?.sources ?? '[]'
  return (JSON.parse(sources) as { name: string; result: string }[]).map(
    ({ name, result }) => `${name} ${result}`,
  )
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('the money of a node on %s', (engine) => {
  it.each([
    { cap: 'with a daily cap', settings: { TABBAT_DOJAH_PRICE: '50', TABBAT_DOJAH_DAILY_CAP: '5000' } },
    { cap: 'without one', settings: {} },
  ])('is leased again when its row is gone, as after a failover, $cap', async ({ settings }) => {
    const vendor = await openVendor()
    const node = await openNode({ ...(await newDatabase(engine)), ...vendor.settings, ...settings })
    const { database } = node.context.store
    expect((await node.ask(node.key)).status).toBe(200)
    await database.prepare('DELETE FROM spend_shares').run()
    expect((await node.ask(node.key)).status).toBe(200)
    expect(vendor.count()).toBe(2)
    const [{ calls } = {}] = await database.prepare('SELECT SUM(calls) AS calls FROM spend_shares').all()
    expect(Number(calls)).toBe(1)
  })
})

describe.each(engines)('the paid calls of an Idempotency-Key on %s', (engine) => {
  it('are two at most in six retries of a truncated reply; then the last failure is answered', async () => {
    const vendor = await openVendor()
    const node = await openNode({ ...(await newDatabase(engine)), ...vendor.settings })
    vendor.fail('truncated')
    const answers: Answer[] = []
    for (let attempt = 0; attempt < 6; attempt++) answers.push(await node.ask(node.key, 'order-1'))
    expect(vendor.count()).toBe(2)
    expect(answers.map(brief)).toEqual([
      '502 source_bad_response true',
      ...Array(5).fill('502 source_bad_response false'),
    ])
    expect(answers.map(({ headers }) => headers.has('retry-after'))).toEqual([true, ...Array(5).fill(false)])
    for (const { body } of answers.slice(1)) expect(body.message).toMatch(USED_UP)
    expect(await lastAttempts(node)).toEqual(['dojah paid_calls'])
    vendor.fail(undefined)
    expect((await node.ask(node.key, 'order-1')).status).toBe(502)
    expect((await node.ask(node.key, 'order-2')).status).toBe(200)
    expect(vendor.count()).toBe(3)
  })

  it('are those of all sources together, and a single request says when they are used up', async () => {
    const [first, second] = [await openVendor(), await openVendor(blusalt)]
    const node = await openNode({
      ...(await newDatabase(engine)),
      TABBAT_NIN_SOURCES: 'dojah,blusalt',
      ...first.settings,
      ...second.settings,
    })
    for (const vendor of [first, second]) vendor.fail('truncated')
    const answers = [await node.ask(node.key, 'order-1'), await node.ask(node.key, 'order-1')]
    expect(answers.map(brief)).toEqual(Array(2).fill('502 source_bad_response false'))
    expect([first.count(), second.count()]).toEqual([1, 1])
    expect(await lastAttempts(node)).toEqual(['dojah paid_calls', 'blusalt paid_calls'])
  })

  it('do not count a call that was not paid', async () => {
    const vendor = await openVendor()
    const node = await openNode({ ...(await newDatabase(engine)), ...vendor.settings })
    vendor.fail('throttled')
    for (let attempt = 0; attempt < 4; attempt++)
      expect(brief(await node.ask(node.key, 'order-1'))).toBe('503 source_unavailable true')
    vendor.fail(undefined)
    expect((await node.ask(node.key, 'order-1')).status).toBe(200)
  })

  it('do not change a delivered response', async () => {
    const vendor = await openVendor()
    const node = await openNode({ ...(await newDatabase(engine)), ...vendor.settings })
    vendor.fail('truncated')
    await node.ask(node.key, 'order-1')
    vendor.fail(undefined)
    const answers: Answer[] = []
    for (let attempt = 0; attempt < 4; attempt++) answers.push(await node.ask(node.key, 'order-1'))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(vendor.count()).toBe(2)
  })

  it('are limited by the setting, and start again 24 hours after the last', async () => {
    const vendor = await openVendor()
    const node = await openNode({
      ...(await newDatabase(engine)),
      ...vendor.settings,
      TABBAT_PAID_CALLS: '3',
    })
    vendor.fail('truncated')
    for (let attempt = 0; attempt < 5; attempt++) await node.ask(node.key, 'order-1')
    expect(vendor.count()).toBe(3)
    const { database } = node.context.store
    const [row] = await database.prepare('SELECT expires_at FROM idempotency').all()
    expect(Number(row?.expires_at)).toBeGreaterThan(Date.now() + 23 * 3_600_000)
    await database.prepare(`UPDATE idempotency SET expires_at = ${Date.now()}`).run()
    await node.ask(node.key, 'order-1')
    expect(vendor.count()).toBe(4)
  })

  it('do not limit free sources', async () => {
    const vendor = await openVendor()
    const node = await openNode({
      ...(await newDatabase(engine)),
      ...vendor.settings,
      TABBAT_NIN_SOURCES: 'registry,dojah',
      TABBAT_NOT_FOUND: 'next',
    })
    vendor.fail('truncated')
    for (let attempt = 0; attempt < 3; attempt++) await node.ask(node.key, 'order-1')
    expect(vendor.count()).toBe(2)
    const { keyring, store } = node.context
    const entry = { record: toNinRecord(NIN, PHONE.slice(1)), mediaId: null }
    const records = [sealEntry(keyring(), 'nin', NIN, entry)]
    await store.registry.save({ records, media: [], at: Date.now() })
    // For one second, an empty registry is remembered as empty.
    await expect.poll(async () => (await node.ask(node.key, 'order-1')).status).toBe(200)
    expect(vendor.count()).toBe(2)
  })

  it('are two for one request without the header, as often as it is sent', async () => {
    const vendor = await openVendor()
    const node = await openNode({ ...(await newDatabase(engine)), ...vendor.settings })
    vendor.fail('truncated')
    for (let attempt = 0; attempt < 4; attempt++)
      expect(brief(await node.ask(node.key))).toBe('502 source_bad_response true')
    expect(vendor.count()).toBe(4)
  })
})

describe.skipIf(!hasPostgres())('two nodes on one PostgreSQL', () => {
  it('share the budget, one after another and at once', async () => {
    const vendor = await openVendor()
    const database = await newDatabase('PostgreSQL')
    const settings = { ...database, ...vendor.settings, TABBAT_ROOT_KEY: createRootKeyText() }
    const [one, other] = [await openNode(settings), await openNode(settings)]
    vendor.fail('truncated')
    for (let attempt = 0; attempt < 3; attempt++)
      for (const node of [one, other]) expect((await node.ask(one.key, 'order-1')).status).toBe(502)
    expect(vendor.count()).toBe(2)
    for (let round = 0; round < 4; round++)
      await Promise.all(
        Array.from({ length: 10 }, (_each, index) => (index % 2 ? one : other).ask(one.key, 'order-2')),
      )
    expect(vendor.count()).toBe(4)
  })
})
