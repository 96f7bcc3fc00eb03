import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import { revokeKey, rollKey } from '../../src/keys/manage.ts'
import type { LoggedRow } from '../../src/ledger/audit-row.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { findChainFaults } from '../battery/chain-check.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '73519284650'
const BVN = '64820193755'
const CORE = '8147730921'
const PHONE = `0${CORE}`
const NAME = 'Zzyzxcanary'

let server: TestApp
let live: string
let liveId: string

const post = (operation: 'nin' | 'bvn', payload: object, key: string, headers: Record<string, string> = {}) =>
  server.app.inject({
    method: 'POST',
    url: `/api/v2/kyc/verify-${operation}`,
    headers: { ...bearer(key), ...headers },
    payload,
  })
const verifyNin = (nin: string, phone = PHONE, key = live, headers = {}) =>
  post('nin', { nin, phone }, key, headers)
const verifyBvn = (bvn: string, amount: string, key = live) => post('bvn', { bvn, phone: PHONE, amount }, key)

const referenceOf = (answer: { json: () => { data: { request_reference: string } } }) =>
  answer.json().data.request_reference

/** All rows, in the order of their chains. */
const readRows = async () =>
  (await server.context.store.database
    .prepare(
      `SELECT audit.*, fields AS released FROM audit LEFT JOIN field_policies ON id = fields_released
       ORDER BY chain, sequence`,
    )
    .all()) as LoggedRow[]

/** The rows that came while the work was done. */
async function rowsOf(work: () => Promise<unknown>): Promise<LoggedRow[]> {
  const before = (await readRows()).length
  await work()
  return (await readRows()).slice(before)
}

async function openServer(engine: string): Promise<void> {
  const settings =
    engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : ({} as const)
  server = await openTestApp({ ...settings, TABBAT_RATE_LIMIT: '200' })
  live = await server.createKey({ mode: 'live' })
  liveId = live.slice('tbt_live_'.length).slice(0, 8)
  const keys = server.context.keyring()
  const nin = toNinRecord(NIN, CORE)
  const bvn = toBvnRecord(BVN, CORE)
  await server.context.store.registry.save({
    at: Date.now(),
    media: [],
    records: [
      sealEntry(keys, 'nin', NIN, {
        record: { ...nin, personal_info: { ...nin.personal_info, first_name: NAME, image_url: '' } },
        mediaId: null,
      }),
      sealEntry(keys, 'bvn', BVN, { record: bvn, mediaId: null }),
      sealEntry(keys, 'bvn', NIN, { record: { ...bvn, bvn_number: NIN }, mediaId: null }),
    ],
  })
}

describe.each(hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite'])('the audit log on %s', (engine) => {
  beforeAll(() => openServer(engine))
  afterAll(() => server.close())

  describe('of a verification', () => {
    it('is one row, with its start and every field that may be recorded', async () => {
      const rows = await rowsOf(() => verifyNin(NIN, PHONE, live, { 'x-consent-reference': 'form-17/2026' }))
      const common = {
        key_id: liveId,
        mode: 'live',
        operation: 'verify_nin',
        amount: null,
        consent_reference: 'form-17/2026',
        detail: null,
      }
      expect(rows).toMatchObject([
        {
          ...common,
          phase: 'outcome',
          outcome: 'verified',
          fields_released: expect.stringMatching(/^[\w-]{22}$/),
          released: expect.stringMatching(/^nin_number,document_no,personal_info,/),
        },
      ])
      const [outcome] = rows
      expect(JSON.parse(outcome?.sources ?? '')).toEqual([
        { name: 'registry', result: 'found', ms: expect.any(Number) },
      ])
      expect(outcome?.subject).toMatch(/^[0-9a-f]{64}$/)
      expect(outcome?.started_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(outcome?.started_at?.localeCompare(outcome.time)).toBeLessThanOrEqual(0)
      expect(outcome?.released).not.toMatch(/next_of_kin|place_of_origin/)
    })

    it('lists the fields that this key sees, and no others', async () => {
      const shy = await server.createKey({ mode: 'live', hide: ['religion'], reveal: ['next_of_kin'] })
      const [outcome] = await rowsOf(() => verifyNin(NIN, PHONE, shy))
      const fields = outcome?.released?.split(',')
      expect(fields).toContain('next_of_kin')
      expect(fields).toContain('personal_info.first_name')
      expect(fields).not.toContain('personal_info.religion')
      expect(fields).not.toContain('personal_info')
    })

    it('has the amount of a BVN check', async () => {
      const rows = await rowsOf(() => verifyBvn(BVN, '1250.50'))
      expect(rows.map(({ phase, operation, amount }) => [phase, operation, amount])).toEqual([
        ['outcome', 'verify_bvn', '1250.50'],
      ])
    })

    it('has one subject for one person, another for the same digits as a BVN, none that can be computed without the key', async () => {
      const subjectOf = async (work: () => Promise<unknown>) => (await rowsOf(work))[0]?.subject ?? ''
      const first = await subjectOf(() => verifyNin(NIN))
      const again = await subjectOf(() => verifyNin(NIN, '08147730900'))
      const asBvn = await subjectOf(() => verifyBvn(NIN, '1'))
      const other = await subjectOf(() => verifyNin('73519284651'))
      expect(again).toBe(first)
      expect(new Set([first, asBvn, other]).size).toBe(3)
      expect(await server.context.store.audit.bySubject(first)).toContainEqual(
        expect.objectContaining({ operation: 'verify_nin' }),
      )
    })

    it.each([
      ['not_verified', '00000000422', 422],
      ['source_bad_response', '00000000502', 502],
      ['source_unavailable', '00000000503', 503],
      ['source_timeout', '00000000504', 504],
    ])('says %s, and that nothing was released', async (outcome, number, status) => {
      const test = await server.createKey()
      const rows = await rowsOf(async () =>
        expect((await verifyNin(number, PHONE, test)).statusCode).toBe(status),
      )
      expect(rows).toMatchObject([{ phase: 'outcome', mode: 'test', outcome, fields_released: null }])
      const [tried] = JSON.parse(rows[0]?.sources ?? '[]')
      expect(tried).toMatchObject({ name: 'sandbox' })
    })

    it('says not_verified for a wrong phone and for an unknown number', async () => {
      for (const answer of [() => verifyNin(NIN, '08147730901'), () => verifyNin('73519284652')])
        expect((await rowsOf(answer))[0]).toMatchObject({ outcome: 'not_verified', fields_released: null })
    })

    it('is in the database before the caller has the answer', async () => {
      const { config } = server.context
      const other = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl })
      try {
        for (let index = 0; index < 20; index++) {
          const reference = referenceOf(await verifyNin(NIN))
          const rows = await other.audit.byReference(reference)
          expect(rows.map(({ phase }) => phase)).toEqual(['outcome'])
        }
      } finally {
        await other.close()
      }
    })
  })

  describe('has no row of a request that was refused:', () => {
    it.each([
      ['401, no key', 401, () => verifyNin(NIN, PHONE, 'nonsense')],
      [
        '403, scope missing',
        403,
        async () => verifyNin(NIN, PHONE, await server.createKey({ scopes: ['catalogue:read'] })),
      ],
      [
        '403, address not allowed',
        403,
        async () => verifyNin(NIN, PHONE, await server.createKey({ allowedIps: ['10.0.0.1'] })),
      ],
      ['422, a field is wrong', 422, () => verifyNin('123')],
      ['422, the phone is wrong', 422, () => verifyNin(NIN, '12')],
      ['422, a bad Idempotency-Key', 422, () => verifyNin(NIN, PHONE, live, { 'idempotency-key': 'a b' })],
      ['400, not JSON', 400, () => postText('{')],
      ['415, not JSON by its type', 415, () => postText('nin', 'text/plain')],
    ])('%s', async (_what, status, ask) => {
      // The creation of the key is recorded; the refusal is not.
      const rows = await rowsOf(async () => expect((await ask()).statusCode).toBe(status))
      expect(rows.filter(({ phase }) => phase !== 'key_created')).toEqual([])
    })

    it('429, too many requests', async () => {
      const busy = await server.createKey()
      const last = async () => {
        for (;;) {
          const { statusCode, json } = await verifyNin('123', PHONE, busy)
          if (statusCode === 429) return json()
        }
      }
      const rows = await rowsOf(async () => expect((await last()).code).toBe('rate_limited'))
      expect(rows).toEqual([])
    })

    it('429, too many guesses; the last guess that was answered is recorded', async () => {
      const guesser = await server.createKey({ mode: 'live' })
      for (let guess = 0; guess < 5; guess++) {
        const rows = await rowsOf(() => verifyNin('73519284659', `0814773093${guess}`, guesser))
        expect(rows.map(({ phase }) => phase)).toEqual(['outcome'])
      }
      const rows = await rowsOf(async () =>
        expect((await verifyNin('73519284659', PHONE, guesser)).json().code).toBe('too_many_attempts'),
      )
      expect(rows).toEqual([])
    })

    const postText = (payload: string, type = 'application/json') =>
      server.app.inject({
        method: 'POST',
        url: '/api/v2/kyc/verify-nin',
        headers: { ...bearer(live), 'content-type': type },
        payload,
      })
  })

  describe('X-Consent-Reference', () => {
    it('is required for a key with requiresConsent', async () => {
      const strict = await server.createKey({ mode: 'live', requiresConsent: true })
      const rows = await rowsOf(async () => {
        const answer = await verifyNin(NIN, PHONE, strict)
        expect([answer.statusCode, answer.json().code]).toEqual([422, 'validation_failed'])
        expect(Object.keys(answer.json().errors)).toEqual(['X-Consent-Reference'])
      })
      expect(rows).toEqual([])
      const [outcome] = await rowsOf(async () =>
        expect(
          (await verifyNin(NIN, PHONE, strict, { 'x-consent-reference': 'C:2026-10_1.a' })).statusCode,
        ).toBe(200),
      )
      expect(outcome?.consent_reference).toBe('C:2026-10_1.a')
    })

    it.each([
      ['is empty', ''],
      ['has spaces', 'form 17'],
      ['is too long', 'x'.repeat(101)],
      ['has the number in it', `form-${NIN}`],
      ['has the phone in it', `form-${CORE}`],
      ['has letters beyond ASCII', 'fórm'],
      ['has the number of another person in it', 'form-90123456781'],
      ['has another number, group by group', 'form:901-2345/6781.2'],
      ['has another number between letters', [...'90123456781'].join('x')],
      [
        'has the number of this person in a UUID',
        `${NIN.slice(0, 8)}-${NIN.slice(8)}a-4abc-8def-abcdefabcdef`,
      ],
    ])('is refused when it %s', async (_why, reference) => {
      const rows = await rowsOf(async () => {
        const answer = await verifyNin(NIN, PHONE, live, { 'x-consent-reference': reference })
        expect([answer.statusCode, answer.json().code]).toEqual([422, 'validation_failed'])
      })
      expect(rows).toEqual([])
    })
  })

  it.each(['CONSENT-2026-11-15-0001', 'CNS-20261115-000123', '7f9c2ba4-0881-4210-9703-512345678901'])(
    'keeps a consent reference that cannot be a number of a person: %s',
    async (reference) => {
      const rows = await rowsOf(() => verifyNin(NIN, PHONE, live, { 'x-consent-reference': reference }))
      expect(rows.at(-1)).toMatchObject({ outcome: 'verified', consent_reference: reference })
    },
  )

  describe('of keys', () => {
    it('records which key was created, rolled and revoked, and never the secret', async () => {
      const deps = { ...server.context, keyring: server.context.keyring() }
      const texts: string[] = []
      const rows = await rowsOf(async () => {
        texts.push(await server.createKey({ mode: 'live' }))
        const id = texts[0]?.slice(9, 17) ?? ''
        const successor = await rollKey(deps, id, 1000)
        texts.push(successor.text)
        await revokeKey(deps, successor.row.id)
      })
      const [first = '', second = ''] = texts.map((text) => text.slice(9, 17))
      expect(rows).toMatchObject([
        { phase: 'key_created', key_id: first, mode: 'live', outcome: 'ok' },
        { phase: 'key_rolled', key_id: first, outcome: 'ok', detail: expect.stringContaining(second) },
        { phase: 'key_revoked', key_id: second, outcome: 'ok' },
      ])
      for (const text of texts) expect(toText(rows)).not.toContain(text.slice(17))
    })
  })

  it('is chained without a gap, and a change is detected', async () => {
    for (let count = 0; count < 12; count++) await verifyNin(NIN, PHONE, live)
    const rows = await readRows()
    expect(rows.length).toBeGreaterThanOrEqual(12)
    expect(findChainFaults(rows)).toEqual([])
    const changed = rows.map((row, index) => (index === 7 ? { ...row, outcome: 'verified!' } : row))
    expect(findChainFaults(changed)).toHaveLength(1)
    expect(findChainFaults(rows.toSpliced(9, 1))).not.toEqual([])
  })

  it('contains no number, phone, name or key in any column', async () => {
    const header = 'order-canary-5531'
    await verifyNin(NIN, PHONE, live, { 'idempotency-key': header })
    await verifyNin(NIN, PHONE, live, { 'idempotency-key': header })
    const text = toText(await readRows()).toLowerCase()
    for (const secret of [NIN, BVN, CORE, NAME, live, live.slice(17), header])
      for (const spelling of spellings(secret)) expect(text).not.toContain(spelling.toLowerCase())
  })

  it('cannot be changed by the application', async () => {
    const { audit, store } = server.context
    await audit.checkpoint()
    for (const sql of ["UPDATE audit SET outcome = 'x'", 'DELETE FROM audit', 'DELETE FROM checkpoints'])
      await expect(store.database.prepare(sql).run()).rejects.toThrow('cannot be changed')
  })
})

const toText = (rows: readonly LoggedRow[]) =>
  JSON.stringify(
    rows.map((row) => ({
      ...row,
      hash: Buffer.from(row.hash).toString('hex'),
      previous_hash: Buffer.from(row.previous_hash).toString('hex'),
    })),
  )

/** Every encoding in which a value could be stored. */
const spellings = (value: string) => [
  value,
  Buffer.from(value).toString('hex'),
  Buffer.from(value).toString('base64').replace(/=+$/, '').slice(0, -1),
]
