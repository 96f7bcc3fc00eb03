import { afterEach, describe, expect, it } from 'vitest'
import { toBlindIndex } from '../../src/crypto/mac.ts'
import { createPersonReport } from '../../src/people/person-report.ts'
import { sealEntry, sealMedia } from '../../src/registry/sealed-entry.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { sealStoredResponse } from '../../src/verification/idempotency.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

/** No source of the sandbox answers it: what asks for it stays in the queue. */
const NIN = '00000000503'
const JPEG = Buffer.from('ffd8ffe000104a464946', 'hex')
const DAMAGED = [{ name: 'cannot be opened', value: '' }]
const opened: TestApp[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

async function openServer(engine: string, { isStopping = false } = {}) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp(database, { isStopping })
  opened.push(server)
  const { store, keyring, registry } = server.context
  const post = (url: string, type: string, payload: string, headers: Record<string, string> = {}) =>
    server.app.inject({
      method: 'POST',
      url,
      headers: { ...bearer(), 'content-type': type, ...headers },
      payload,
    })
  return {
    ...server,
    subject: toBlindIndex(keyring().subject, 'nin', NIN),
    execute: (sql: string, ...values: (string | Uint8Array)[]) => store.database.prepare(sql).run(...values),
    report: (withValues = true) =>
      createPersonReport(
        { store, keyring: keyring(), registry },
        {
          ...{ kind: 'nin', number: NIN, reason: 'Request of access, case 17', by: 'ada' },
          ...{ withValues, isDemo: false, organisation: [], limits: [] },
        },
      ),
    /** A verification that waits. */
    ask: async () => {
      const payload = JSON.stringify({ nin: NIN, phone: PHONE, first_name: 'Ada' })
      const headers = { prefer: 'respond-async', 'x-consent-reference': 'shop/17', 'x-purpose': 'loan' }
      const answer = await post('/api/v2/kyc/verify-nin', 'application/json', payload, headers)
      expect(answer.statusCode).toBe(202)
      return answer.json().data.request_reference as string
    },
    /** A batch of two rows that were asked; the second is put back, as if it waited. */
    sendBatch: async () => {
      const row = { operation: 'verify_nin', nin: NIN, phone: PHONE }
      const rows = [{ ...row, reference: 'Customer 1' }, row].map((each) => JSON.stringify(each))
      const answer = await post('/api/v2/kyc/batches', 'application/x-ndjson', rows.join('\n'))
      expect(answer.statusCode).toBe(202)
      const count = store.database.prepare('SELECT COUNT(*) AS rows FROM batch_rows WHERE question IS NULL')
      await expect.poll(async () => Number((await count.get())?.rows)).toBe(2)
      await store.database.prepare('UPDATE batch_rows SET question = $1 WHERE line = 2').run(Buffer.alloc(9))
      return answer.json().data.id as string
    },
    saveRecord: async () => {
      const mediaId = Buffer.alloc(16, 7)
      const entry = { record: toNinRecord(NIN, PHONE.slice(1)), mediaId: mediaId.toString('hex') }
      const sealed = sealEntry(keyring(), 'nin', NIN, entry)
      const media = [sealMedia(keyring(), mediaId, sealed.subject, JPEG)]
      await store.registry.save({ records: [sealed], media, at: Date.parse('2026-11-01T12:00:00Z') })
    },
    /** An answer under an Idempotency-Key that does not say whom it is about, as after a virtual NIN. */
    keepUnnamed: async (nin: string) => {
      const name = Buffer.alloc(32, nin)
      const sealed = sealStoredResponse(keyring(), name, {
        status: 200,
        body: JSON.stringify({ data: { nin_number: nin, personal_info: { first_name: 'Ada' } } }),
        ...{ outcome: 'verified', reference: `ver_${nin}`, released: null },
      })
      await store.database
        .prepare(
          `INSERT INTO idempotency (key_id, operation, name, fingerprint, owner, lease_until, expires_at, sealed, subject)
           VALUES ('sandbox0', 'verify_nin', $1, $1, '', 0, $2, $3, NULL)`,
        )
        .run(name, Date.parse('2100-01-01T00:00:00Z'), sealed)
    },
  }
}

describe.each(engines)('what a report says is held on %s', (engine) => {
  it('has the question of a verification that waits, and hides its values if asked', async () => {
    const { ask, report } = await openServer(engine, { isStopping: true })
    const reference = await ask()
    const [queued] = (await report()).held.queued
    expect(queued).toMatchObject({
      key_id: 'sandbox0',
      mode: 'test',
      request_reference: reference,
      batch: null,
    })
    expect(Object.fromEntries(queued?.fields.map(({ name, value }) => [name, value]) ?? [])).toMatchObject({
      ...{ number: NIN, phone: PHONE.slice(1), first_name: 'Ada' },
      ...{ consentReference: 'shop/17', purpose: 'loan' },
    })
    const hidden = (await report(false)).held.queued[0]?.fields
    expect(hidden?.map(({ name }) => name)).toEqual(queued?.fields.map(({ name }) => name))
    expect(JSON.stringify(hidden)).not.toMatch(/Ada|shop|loan|503/)
  })

  it('has the rows of a batch: one that was asked, and one that waits for it', async () => {
    const { sendBatch, report } = await openServer(engine)
    const batch = await sendBatch()
    const common = { key_id: 'sandbox0', mode: 'test', operation: 'verify_nin', batch }
    expect((await report()).held.batch_rows).toMatchObject([
      { ...common, line: 1, is_waiting: false, label: 'Customer 1' },
      { ...common, line: 2, is_waiting: true, label: '' },
    ])
    expect((await report(false)).held.batch_rows.map(({ label }) => label)).toEqual(['****', ''])
  })

  it('has a record with its picture, and answers that do not say whom they are about', async () => {
    const { saveRecord, keepUnnamed, report } = await openServer(engine)
    await saveRecord()
    await keepUnnamed(NIN)
    await keepUnnamed('12345678902')
    const { record, picture, kept_answers } = (await report()).held
    expect(record?.updated_at).toBe('2026-11-01T12:00:00.000Z')
    expect(picture).toEqual({ media_type: 'image/jpeg', bytes: JPEG.length, base64: JPEG.toString('base64') })
    expect(kept_answers).toMatchObject([
      { operation: 'verify_nin', outcome: 'verified', request_reference: `ver_${NIN}` },
    ])
    expect(kept_answers[0]?.fields).toContainEqual({ name: 'personal_info.first_name', value: 'Ada' })
    const hidden = (await report(false)).held
    expect(hidden.picture).toEqual({ media_type: 'image/jpeg', bytes: JPEG.length, base64: null })
    expect(JSON.stringify(hidden)).not.toMatch(/Ada|"0*503"/)
  })

  it('says what cannot be opened, and has the rest', async () => {
    const { ask, sendBatch, saveRecord, keepUnnamed, report, execute, subject, context } =
      await openServer(engine)
    await sendBatch()
    await ask()
    await saveRecord()
    await keepUnnamed(NIN)
    // No attempt is begun any more: it would end a question that cannot be opened.
    context.lifecycle.stopping = true
    const bad = Buffer.alloc(64, 9)
    const reused = toBlindIndex(context.keyring()['reuse-index'], 'nin', NIN)
    await execute('UPDATE idempotency SET sealed = $1, subject = $2', bad, subject)
    await execute('UPDATE batch_rows SET label = $1', bad)
    await execute(
      'UPDATE queued_verifications SET question = $1, due_at = 4102444800000 WHERE subject = $2',
      bad,
      subject,
    )
    await execute('UPDATE media SET sealed = $1', bad)
    expect((await report()).held.picture).toEqual({ media_type: 'cannot be opened', bytes: 0, base64: null })
    await execute('UPDATE registry SET sealed = $1', bad)
    await execute(
      'INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, $2, 4102444800000)',
      reused,
      bad,
    )
    const { held } = await report()
    expect(held.kept_answers).toMatchObject([{ request_reference: null, outcome: null, fields: DAMAGED }])
    expect(held.queued.map(({ fields }) => fields)).toEqual([DAMAGED, DAMAGED, DAMAGED])
    expect(held.batch_rows.map(({ label }) => label)).toEqual(['', ''])
    expect(held.reused_results).toEqual([
      { source: 'unknown', kept_until: '2100-01-01T00:00:00.000Z', fields: DAMAGED },
    ])
    expect(held.record).toEqual({ updated_at: '2026-11-01T12:00:00.000Z', fields: DAMAGED })
    expect(held.picture).toBeNull()
  })
})
