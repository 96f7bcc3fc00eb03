import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { erasePerson } from '../../src/people/erase-person.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '12345678901'
const PHONE = `0${toPhoneCoreOf(NIN)}`
const WAITING = '12345678902'
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

/** Every column that may hold an answer or a question, with the table. */
const SEALED = {
  idempotency: ['sealed'],
  queued_verifications: ['question', 'answer'],
  batch_rows: ['question', 'label'],
  reused_results: ['sealed'],
  registry: ['sealed'],
  media: ['sealed'],
} as const

describe.each(engines)('after an erasure on %s', (engine) => {
  async function openServer() {
    const vendor = await openStandIn(dojah)
    opened.push(vendor)
    const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    const server = await openTestApp({
      ...database,
      ...vendor.settings,
      ...{ TABBAT_NIN_SOURCES: 'dojah', TABBAT_REUSE: '24h' },
    })
    opened.push(server)
    const key = await server.createKey({ mode: 'live' })
    const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
    const send = async (
      path: string,
      headers: Record<string, string>,
      body: string,
      type = 'application/json',
    ) =>
      fetch(`${url}/api/v2/kyc/${path}`, {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': type, ...headers },
        body,
      })
    const read = (path: string) => fetch(new URL(path, url), { headers: bearer(key) })
    return { ...server, vendor, send, read }
  }

  it('no sealed bytes about the person are in any table, and nothing can be read again', async () => {
    const { context, vendor, send, read } = await openServer()
    const person = JSON.stringify({ nin: NIN, phone: PHONE })
    expect((await send('verify-nin', { 'idempotency-key': 'one' }, person)).status).toBe(200)
    const pending = await send('verify-nin', { prefer: 'respond-async', 'cache-control': 'no-cache' }, person)
    const place = pending.headers.get('location') ?? ''
    await expect.poll(async () => (await read(place)).status).toBe(200)
    const batch = await send(
      'batches',
      {},
      `${JSON.stringify({ operation: 'verify_nin', nin: NIN, phone: PHONE, reference: 'customer 17' })}\n`,
      'application/x-ndjson',
    )
    const batchPlace = batch.headers.get('location') ?? ''
    await expect
      .poll(async () => ((await (await read(batchPlace)).json()) as { data: { state: string } }).data.state)
      .toBe('completed')
    // One that waits for a vendor that is down.
    vendor.fail('failing')
    const other = JSON.stringify({ nin: WAITING, phone: `0${toPhoneCoreOf(WAITING)}` })
    const waiting = await send('verify-nin', { prefer: 'respond-async' }, other)

    const before = await readSealed(context.store.database)
    expect(before.length).toBeGreaterThanOrEqual(6)
    const deps = { ...context, keyring: context.keyring() }
    const erased = await erasePerson(deps, 'nin', NIN)
    expect(erased).toMatchObject({ keptAnswers: 1, reusedResults: 1, queued: 2, batchLabels: 1 })
    expect(await erasePerson(deps, 'nin', WAITING)).toMatchObject({ queued: 1 })
    expect(await readSealed(context.store.database)).toEqual([])
    for (const address of [place, waiting.headers.get('location') ?? ''])
      expect((await read(address)).status).toBe(410)
    const results = await (await read(`${batchPlace}/results`)).text()
    expect(results).not.toContain(NIN)
    expect(results).not.toContain('customer 17')

    if (engine === 'SQLite') {
      const files = ['', '-wal'].map((end) => readFileSync(join(context.config.dataDir, `tabbat.db${end}`)))
      for (const sealed of before)
        expect(files.some((file) => file.includes(sealed.subarray(0, 40)))).toBe(false)
    }
  })
})

async function readSealed(database: Awaited<ReturnType<typeof openTestApp>>['context']['store']['database']) {
  const found: Buffer[] = []
  for (const [table, columns] of Object.entries(SEALED))
    for (const column of columns) {
      const extra = table === 'registry' ? " AND kind <> 'decoy'" : ''
      const rows = await database
        .prepare(
          `SELECT ${column} AS bytes FROM ${table} WHERE ${column} IS NOT NULL AND length(${column}) > 0${extra}`,
        )
        .all()
      found.push(...rows.map(({ bytes }) => Buffer.from(bytes as Uint8Array)))
    }
  return found
}
