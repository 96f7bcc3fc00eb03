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
  const readValues = async (table: string) => {
    const rows = await server.context.store.database.prepare(`SELECT * FROM ${table}`).all()
    return rows.flatMap((row) => Object.values(row))
  }
  /** Every value of every row: bytes as they are, all others as text. */
  const readTables = async () => {
    const tables = new Map<string, Buffer>()
    for (const table of await listTables(server.context.store.database)) {
      const values = (await readValues(table)).map((value) => toBytes(value))
      tables.set(table, Buffer.concat(values.flatMap((value) => [value, Buffer.from('\n')])))
    }
    return tables
  }
  /** Every value of these tables that may be a hash, in hex: also those by which a row is found or compared. */
  const readHashes = async (tables: readonly string[]) => {
    const hashes = new Map<string, ReadonlySet<string>>()
    for (const table of tables) hashes.set(table, new Set((await readValues(table)).flatMap(toHashes)))
    return hashes
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
  return { server, readTables, readHashes, fill, resume }
}

const toBytes = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value))

/** Of at least 16 bytes. The first row of a chain has zeros in place of the hash before it. */
function toHashes(value: unknown): readonly string[] {
  if (value instanceof Uint8Array)
    return value.length < 16 || value.every((byte) => byte === 0) ? [] : [toHex(value)]
  return String(value).match(/[0-9a-f]{32,}/g) ?? []
}

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** The tables in which something is stored about the people of both servers, who are the same. */
const ABOUT_PEOPLE = [
  ...['audit', 'queued_verifications', 'batch_rows', 'idempotency', 'attempts'],
  ...['reused_results', 'key_subjects'],
]

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
    const hashes: ReadonlyMap<string, ReadonlySet<string>>[] = []
    for (const { readTables, readHashes, fill, resume } of servers) {
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
      hashes.push(await readHashes(ABOUT_PEOPLE))
    }
    const [one = new Map(), other = new Map()] = hashes
    for (const table of ABOUT_PEOPLE) {
      const [mine = new Set<string>(), theirs = new Set<string>()] = [one.get(table), other.get(table)]
      expect(mine.size, table).toBeGreaterThan(0)
      expect([...mine.intersection(theirs)], table).toEqual([])
    }
  })
})
