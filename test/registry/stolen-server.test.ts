import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createTestDatabase } from '../postgres.ts'
import { listTables } from './full-database.ts'
import { ENGINES } from './sealed-registry.ts'
import { search, toSpellings } from './spellings.ts'

const [AT_ONCE, LATER, IN_BATCH, GUESSED] = ['73914650281', '60482917353', '50317264918', '42860917355']
const PEOPLE = [AT_ONCE, LATER, IN_BATCH, GUESSED] as const
const WRONG_PHONE = '8160042579'
const WORDS = ['order-canary-5531', 'label-canary-7702']
const KYC = '/api/v2/kyc'

/** A server that asks a vendor. Its worker rests until `resume`, so that questions stay in the queue. */
async function openServer(engine: string, vendor: StandIn) {
  const server = await openTestApp(
    {
      ...vendor.settings,
      ...(engine === 'postgres' && { TABBAT_DATABASE_URL: await createTestDatabase() }),
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_REUSE: '1h',
    },
    { isStopping: true },
  )
  const key = await server.createKey({ mode: 'live' })
  const send = (url: string, payload: string | object, headers = {}) =>
    server.app.inject({ method: 'POST', url: KYC + url, headers: { ...bearer(key), ...headers }, payload })
  const verify = (nin: string, phone: string, headers = {}) =>
    send('/verify-nin', { nin, phone: `0${phone}` }, headers)
  /** Every value of every row: bytes as they are, all others as text. */
  const readTables = async () => {
    const { database } = server.context.store
    const tables = new Map<string, Buffer>()
    for (const table of await listTables(database)) {
      const rows = await database.prepare(`SELECT * FROM ${table}`).all()
      const values = rows.flatMap((row) => Object.values(row)).map((value) => toBytes(value))
      tables.set(table, Buffer.concat(values.flatMap((value) => [value, Buffer.from('\n')])))
    }
    return tables
  }
  const fill = async () => {
    const key = { 'idempotency-key': WORDS[0] }
    expect((await verify(AT_ONCE, toPhoneCoreOf(AT_ONCE), key)).statusCode).toBe(200)
    expect((await verify(GUESSED, WRONG_PHONE)).statusCode).toBe(422)
    const later = { prefer: 'respond-async', 'idempotency-key': `${WORDS[0]}-later` }
    const pending = await verify(LATER, toPhoneCoreOf(LATER), later)
    expect(pending.statusCode).toBe(202)
    const row = { operation: 'verify_nin', nin: IN_BATCH, phone: `0${toPhoneCoreOf(IN_BATCH)}`, id: WORDS[1] }
    const batch = await send('/batches', JSON.stringify(row), { 'content-type': 'application/x-ndjson' })
    expect(batch.statusCode).toBe(202)
    return [pending.headers.location, batch.headers.location].map(String)
  }
  const resume = async ([pending = '', batch = '']: readonly string[]) => {
    server.context.lifecycle.stopping = false
    const read = (url: string) => server.app.inject({ url, headers: bearer(key) })
    await expect.poll(async () => (await read(pending)).statusCode).toBe(200)
    await expect.poll(async () => (await read(batch)).json().data.ended_at).not.toBeNull()
  }
  return { server, readTables, fill, resume }
}

const toBytes = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value))

const toCanaries = () =>
  new Map(
    [
      ...PEOPLE.flatMap((number) => {
        const { first_name, last_name } = toNinPerson(number).personal_info
        return [number, toPhoneCoreOf(number), `"${first_name}`, `"${last_name}`]
      }),
      WRONG_PHONE,
      ...WORDS,
    ].map((secret) => [secret, toSpellings(secret)]),
  )

describe.each(ENGINES)('the stolen database of a server on %s', (engine) => {
  let vendor: StandIn
  let servers: readonly Awaited<ReturnType<typeof openServer>>[]
  beforeAll(async () => {
    vendor = await openStandIn(dojah)
    servers = [await openServer(engine, vendor), await openServer(engine, vendor)]
  })
  afterAll(async () => {
    for (const { server } of servers) await (server as TestApp).close()
    await vendor.close()
  })

  it('tells nobody who is asked about, was answered, or waits in the queue or in a batch, and no hash of another server', async () => {
    const subjects: Set<string>[] = []
    for (const { server, readTables, fill, resume } of servers) {
      const places = await fill()
      const during = await readTables()
      expect(during.get('queued_verifications')?.length).toBeGreaterThan(0)
      expect(during.get('batch_rows')?.length).toBeGreaterThan(0)
      expect(search(during, toCanaries())).toEqual([])
      await resume(places)
      const after = await readTables()
      for (const table of ['audit', 'idempotency', 'attempts', 'reused_results'])
        expect(after.get(table)?.length, table).toBeGreaterThan(0)
      expect(search(after, toCanaries())).toEqual([])
      const { database } = server.context.store
      const names = ['audit', 'queued_verifications', 'batch_rows', 'idempotency', 'attempts']
      const all = new Set<string>()
      for (const table of names) {
        const rows = await database.prepare(`SELECT subject FROM ${table} WHERE subject IS NOT NULL`).all()
        for (const { subject } of rows) all.add(toBytes(subject).toString('hex'))
      }
      subjects.push(all)
    }
    const [one = new Set<string>(), other = new Set<string>()] = subjects
    expect(one.size).toBeGreaterThanOrEqual(PEOPLE.length)
    expect([...one].filter((subject) => other.has(subject))).toEqual([])
  })
})
