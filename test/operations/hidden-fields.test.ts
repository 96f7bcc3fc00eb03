import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RecordOf } from '../../src/contract/record.ts'
import { KINDS, type Kind } from '../../src/crypto/mac.ts'
import { listFieldGroups, mask, toHiddenFields } from '../../src/keys/field-policy.ts'
import { changeKey } from '../../src/keys/manage.ts'
import { createRowCleaner } from '../../src/registry/import/clean-row.ts'
import { toFieldNames } from '../../src/registry/import/record-fields.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { completeBvn, completeNin } from '../../src/sources/record.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NUMBERS: Readonly<Record<Kind, string>> = { nin: '65000000001', bvn: '65000000002' }
const DAY = ['23-11-1987', '23-nov-1987', 'nov 23, 1987', 'november 23, 1987']

/** Computed when a record is read. The test does not say from what. */
const COMPUTED = ['personal_info.full_name', 'personal_info.formatted_date_of_birth']
/** What the card and the e-mail address repeat. */
const NAMES = ['personal_info.first_name', 'personal_info.middle_name', 'personal_info.last_name']

const FIELDS = listFieldGroups().flatMap(({ fields }) => fields.map(({ name }) => name))

/** A value for every field that occurs nowhere else. Only letters, so that it may be a name. */
const PLANTED = new Map(
  FIELDS.map((path, index) => [
    path,
    `Zq${String.fromCharCode(97 + (index % 26), 97 + Math.floor(index / 26))}x`,
  ]),
)
const planted = (path: string) => PLANTED.get(path) ?? ''

function toValue(path: string): string {
  if (path === 'nin_number' || path === 'bvn_number') return NUMBERS[path.slice(0, 3) as Kind]
  if (path === 'personal_info.phone_number') return PHONE
  if (path === 'personal_info.phone_number_2') return '09012345678'
  if (path === 'personal_info.date_of_birth' || path === 'formatted_registration_date') return '1987-11-23'
  if (path === 'personal_info.gender') return 'Female'
  if (path === 'name_on_card') return NAMES.map(planted).join(' ').toUpperCase()
  if (path === 'personal_info.email') return `${NAMES.map(planted).join('.').toLowerCase()}@example.com`
  return COMPUTED.includes(path) ? '' : planted(path)
}

/** A row of an import, or the fields of a vendor's answer. */
function toRow(kind: Kind): Record<string, string | Record<string, string>> {
  const row: Record<string, string | Record<string, string>> = {}
  const own = toFieldNames(kind).filter((path) => FIELDS.includes(path) || path === `${kind}_number`)
  for (const path of own) {
    const [group = '', field] = path.split('.')
    if (field === undefined) row[group] = toValue(path)
    else row[group] = { ...(row[group] as Record<string, string> | undefined), [field]: toValue(path) }
  }
  return row
}

/** The texts of which none may be in an answer that hides the field. */
function toTraces(path: string): readonly string[] {
  if (path.endsWith('date_of_birth')) return DAY
  if (path === 'personal_info.phone_number') return ['08031234567']
  if (path === 'personal_info.phone_number_2') return ['09012345678']
  // Made of other fields, which the key still sees. The field itself is looked at.
  if ([...COMPUTED, 'name_on_card', 'personal_info.email'].includes(path)) return []
  return path === 'personal_info.gender' ? ['"female"', '"f"'] : [planted(path).toLowerCase()]
}

const read = (record: object, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], record)

function expectHidden(path: string, text: string, record: object): void {
  const answer = text.toLowerCase()
  for (const trace of toTraces(path)) expect(answer, `${path} hidden`).not.toContain(trace)
  expect([undefined, null, '', '****']).toContain(read(record, path))
}

const withoutRegistration = (kind: Kind, row: object) =>
  kind === 'bvn' ? { ...row, formatted_registration_date: '' } : row

describe.each(KINDS)('a %s record', (kind) => {
  const row = withoutRegistration(kind, toRow(kind))
  const records: Record<string, RecordOf[Kind]> = {
    imported: createRowCleaner(kind)(row).record,
    'from a vendor': kind === 'nin' ? completeNin(row) : completeBvn(row),
  }

  it.each(Object.entries(records))('%s shows nothing of a hidden field in any other', (_from, record) => {
    expect(read(record, 'personal_info.full_name')).toBe(NAMES.map(planted).join(' '))
    expect(read(record, 'personal_info.formatted_date_of_birth')).toMatch(/^Nov.* 23, 1987$/)
    for (const path of FIELDS) {
      const hidden = mask<object>(record, toHiddenFields([path], []))
      expectHidden(path, JSON.stringify(hidden), hidden)
    }
  })
})

it('a hidden watch list does not say whether the person is on it', () => {
  const row = toRow('bvn')
  const hidden = toHiddenFields(['watchlisted'], [])
  const answers = ['YES', '', null].map((watchlisted) => mask(completeBvn({ ...row, watchlisted }), hidden))
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
})

it('a field that is derived from a hidden one cannot be revealed', () => {
  for (const path of FIELDS) expect(toHiddenFields([path], FIELDS)).toContain(path)
  expect(toHiddenFields(['date_of_birth'], ['formatted_date_of_birth'])).toContain(
    'personal_info.formatted_date_of_birth',
  )
  expect(toHiddenFields(['first_name'], ['full_name', 'name_on_card'])).toEqual(
    expect.arrayContaining(['personal_info.full_name', 'name_on_card']),
  )
})

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('answers on %s', (engine) => {
  let server: TestApp
  let url: string
  beforeAll(async () => {
    const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    server = await openTestApp({ ...database, TABBAT_BATCH_RATE: '100000' })
    url = await server.app.listen({ host: '127.0.0.1', port: 0 })
    const records = KINDS.map((kind) => {
      const { number, record } = createRowCleaner(kind)(withoutRegistration(kind, toRow(kind)))
      return sealEntry(server.context.keyring(), kind, number, { record, mediaId: null })
    })
    await server.context.store.registry.save({ records, media: [], at: Date.now() })
  })
  afterAll(() => server.close())

  const call = async (path: string, key: string, body?: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/api/v2/kyc/${path}`, {
      ...(body !== undefined && { method: 'POST', body }),
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
    })
    return { status: answer.status, text: await answer.text(), match: answer.headers.get('tabbat-match') }
  }
  const NUMBER_OF = { nin: { nin: NUMBERS.nin }, bvn: { bvn: NUMBERS.bvn, amount: '1' } }
  const toBody = (kind: Kind, more: object = {}) => ({ ...NUMBER_OF[kind], phone: PHONE, ...more })

  it.each(KINDS)('to a %s show nothing of a hidden field, at once, replayed and later', async (kind) => {
    for (const path of [...NAMES, 'personal_info.date_of_birth', 'personal_info.religion', 'watchlisted']) {
      if (!toFieldNames(kind).includes(path)) continue
      const key = await server.createKey({ mode: 'live', hide: [path] })
      const body = JSON.stringify(toBody(kind))
      const ways = [
        {},
        { 'idempotency-key': 'one' },
        { 'idempotency-key': 'one' },
        { prefer: 'respond-async, wait=10' },
      ]
      for (const headers of ways) {
        const answer = await call(`verify-${kind}`, key, body, headers)
        expect(answer.status).toBe(200)
        expectHidden(path, answer.text, JSON.parse(answer.text).data)
      }
    }
  })

  it('of a batch show nothing of a hidden field', async () => {
    const key = await server.createKey({ mode: 'live', hide: ['first_name', 'date_of_birth'] })
    const rows = KINDS.map((kind) => JSON.stringify(toBody(kind, { operation: `verify_${kind}` })))
    const type = { 'content-type': 'application/x-ndjson' }
    const { id } = JSON.parse((await call('batches', key, rows.join('\n'), type)).text).data
    const readEnd = async () => JSON.parse((await call(`batches/${id}`, key)).text).data.ended_at
    await expect.poll(readEnd).not.toBeNull()
    const { text } = await call(`batches/${id}/results`, key)
    expect(text.match(/VERIFIED/g)).toHaveLength(2)
    for (const path of ['personal_info.first_name', 'personal_info.date_of_birth'])
      for (const trace of toTraces(path)) expect(text.toLowerCase()).not.toContain(trace)
  })

  it.each(KINDS)('to a %s that are stored show nothing of a field that was hidden since', async (kind) => {
    const key = await server.createKey({ mode: 'live' })
    const details = { first_name: planted(NAMES[0] ?? ''), date_of_birth: '1987-11-23' }
    const body = JSON.stringify(toBody(kind, details))
    const ask = (headers: Record<string, string>) => call(`verify-${kind}`, key, body, headers)
    const first = await ask({ 'idempotency-key': 'before' })
    expect(first.match).toBe('first_name=exact, date_of_birth=exact')
    const queued = await ask({ prefer: 'respond-async, wait=10' })
    const reference = JSON.parse(queued.text).data.request_reference
    const row = JSON.stringify(toBody(kind, { operation: `verify_${kind}`, ...details }))
    const type = { 'content-type': 'application/x-ndjson' }
    const { id } = JSON.parse((await call('batches', key, row, type)).text).data
    const readEnd = async () => JSON.parse((await call(`batches/${id}`, key)).text).data.ended_at
    await expect.poll(readEnd).not.toBeNull()
    expect((await ask({ 'idempotency-key': 'before' })).text).toBe(first.text)

    const paths = ['personal_info.first_name', 'personal_info.date_of_birth']
    await changeKey(server.context, key.slice(9, 17), { hide: paths })
    await expect.poll(async () => (await ask({})).text).not.toContain(details.first_name)
    const stored = [
      await ask({ 'idempotency-key': 'before' }),
      await call(`verifications/${reference}`, key),
      await call(`batches/${id}/results`, key),
    ]
    for (const { status, text, match } of stored) {
      expect([status, match]).toEqual([200, null])
      expect(text).toContain(planted('personal_info.last_name'))
      expect(text).not.toContain('exact')
      for (const path of paths)
        for (const trace of toTraces(path)) expect(text.toLowerCase()).not.toContain(trace)
    }
  })

  it.each(KINDS)('to a %s compare nothing with a hidden name', async (kind) => {
    const key = await server.createKey({ mode: 'live', hide: ['middle_name', 'formatted_date_of_birth'] })
    const more = { first_name: planted('personal_info.middle_name'), date_of_birth: '1987-11-23' }
    const answer = await call(`verify-${kind}`, key, JSON.stringify(toBody(kind, more)))
    expect([answer.status, answer.match]).toEqual([200, 'first_name=no'])
  })
})
