import { globSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toAuditCursor } from '../../src/admin/audit.ts'
import { createChainChecks } from '../../src/admin/chain-check.ts'
import { auditFilterErrors } from '../../src/audit/audit-filter.ts'
import { CHECKPOINT_FILE } from '../../src/audit/checkpoint-folder.ts'
import { verifyExtract } from '../../src/audit/extract/verify-extract.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { AUDIT_PHASES } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import type { AuditRow } from '../../src/ledger/audit-row.ts'
import { bearer, openTestApp, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

const NIN = '45678901234'
const OTHER = '45678901235'
type Row = Record<string, unknown> & {
  phase: string
  request_reference: string | null
  detail: string | null
}
type Result = { rows: Row[]; next: string | null; searched_back_to: string | null; person: string | null }

let at: TestConsole
let viewer: string
let operator: string
let reference: string
beforeAll(async () => {
  at = await openTestConsole()
  viewer = await at.openSession('viewer')
  operator = await at.openSession('operator')
  reference = await verify(NIN)
  for (let turn = 0; turn < 40; turn++) await verify(OTHER)
  for (let turn = 0; turn < 40; turn++) await at.context.audit.record([{ phase: 'source_checked' }])
})
afterAll(() => at.close())

async function verify(nin: string): Promise<string> {
  const answer = await at.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: bearer(),
    payload: { nin, phone: PHONE },
  })
  return JSON.parse(answer.body).data.request_reference
}

const sendSearch = (body: object, cookie = viewer) => at.request('/admin/audit/search', { cookie, body })
const search = async (body: object) => (await sendSearch(body)).json() as unknown as Result

async function allRows(): Promise<AuditRow[]> {
  const { audit } = at.context.store
  const pages = await Promise.all((await audit.chains()).map(({ chain }) => audit.page(chain, 0, 10_000)))
  return pages.flat()
}

describe('a search of the audit log', () => {
  it('returns all rows, newest first, in pages of fifty', async () => {
    const first = await search({})
    expect(first.rows).toHaveLength(50)
    expect(first.next).toEqual(expect.any(String))
    const second = await search({ before: first.next })
    expect(second.next).toBeNull()
    const hashes = [...first.rows, ...second.rows].map(({ hash }) => hash)
    expect(new Set(hashes).size).toBe(hashes.length)
    expect(hashes).toHaveLength((await allRows()).length)
    expect(first.rows.at(0)?.phase).toBe('source_checked')
    expect(second.rows.at(-1)).toMatchObject({ phase: 'outcome', request_reference: reference })
  })

  it('filters by reference, key, outcome, phase and time, also combined', async () => {
    const { rows } = await search({ reference })
    expect(rows.map(({ phase }) => phase)).toEqual(['outcome'])
    expect((await search({ reference, outcome: 'verified' })).rows).toHaveLength(1)
    for (const key of ['sandbox0', 'public sandbox key'])
      expect((await search({ key, phase: 'outcome', outcome: 'verified' })).rows).toHaveLength(41)
    expect((await search({ source: 'sandbox', operation: 'verify_nin' })).rows).toHaveLength(41)
    expect((await search({ consent_reference: 'shop/17' })).rows).toEqual([])
    expect((await search({ to: '2020-01-01T00:00:00Z' })).rows).toEqual([])
    expect((await search({ from: '2020-01-01T00:00:00+01:00', phase: 'outcome' })).rows).toHaveLength(41)
  })

  it.each([
    { to: '9999-12-31T23:59:59.999Z' },
    { to: '9999-12-31T23:59:59-12:00' },
    { from: '0000-01-01T00:00:00+14:00' },
    { before: toAuditCursor({ time: '+275760-09-13T00:00:00.000Z', chain: 'none', sequence: 1 }) },
  ])('accepts the time %j', async (filter) => {
    expect((await search(filter)).rows).toHaveLength(50)
  })

  it('ignores empty fields', async () => {
    expect((await search({ reference: '', key: ' ', outcome: '', phase: '', source: '' })).rows).toHaveLength(
      50,
    )
  })

  it('finds a person by number without storing it, and is audited', async () => {
    const answer = await sendSearch({ subject: { kind: 'nin', number: NIN } })
    const { rows } = answer.json() as unknown as Result
    expect(
      rows.filter(({ phase }) => phase !== 'audit_searched').map((row) => row.request_reference),
    ).toEqual([reference])
    const hash = at.context.toSubjectHash('nin', NIN)
    const audited = (await allRows()).filter(({ phase }) => phase === 'audit_searched')
    expect(audited).toMatchObject([{ subject: hash, detail: 'by viewer' }])
    expect(answer.text).not.toContain(NIN)
    // The address of the page carries it, so that the search can be repeated without the number.
    expect(answer.json().person).toBe(hash)
    const again = await search({ person: hash })
    expect(again.rows.map((row) => row.request_reference)).toContain(reference)
    expect((await allRows()).filter(({ phase }) => phase === 'audit_searched')).toHaveLength(2)
    expect(JSON.stringify(await allRows())).not.toContain(NIN)
  })

  it.each([
    ['subject.number', { subject: { kind: 'nin', number: '123' } }],
    ['from', { from: 'yesterday' }],
    ['person', { person: NIN }],
    ['before', { before: 'nonsense' }],
    ['key', { key: 'public sandbox ke' }],
    ['key', { key: 'nobody00' }],
    ['outcome', { outcome: 'verfied' }],
    ['operation', { operation: 'verify_passport' }],
    ['phase', { phase: 'key_invented' }],
    ['before', { before: Buffer.from('["x","y",1]').toString('base64url') }],
  ])('names the invalid field: %s', async (field, body) => {
    const answer = await sendSearch(body)
    expect(answer.status).toBe(422)
    expect(Object.keys(answer.json().errors as object)).toEqual([field])
  })

  it('takes every outcome that the program writes', async () => {
    const written = globSync('src/**/*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\{ (?:\.\.\.\w+, )?phase: .*\boutcome: '(\w+)'/g)].map(
        ([, outcome]) => outcome,
      ),
    )
    expect(written.length).toBeGreaterThan(15)
    const unknown = [
      ...new Set(written),
      'cancelled',
      'expired',
      'none',
      'source_timeout',
      'wrong_secret',
    ].filter((outcome) => Object.keys(auditFilterErrors({ outcome }, new Map())).length > 0)
    expect(unknown).toEqual([])
  })

  it('offers every phase that the program writes', async () => {
    const written = globSync('src/**/*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bphase: '(\w+)'/g)].map(([, phase]) => phase),
    )
    expect(written.length).toBeGreaterThan(20)
    expect(written.filter((phase) => !AUDIT_PHASES.includes(phase as never))).toEqual([])
    const options = (await at.request('/admin/audit/options', { cookie: viewer })).json()
    expect(options).toMatchObject({
      phases: [...AUDIT_PHASES],
      operations: ['verify_nin', 'verify_bvn'],
      sources: expect.arrayContaining(['sandbox', 'registry', 'dojah']),
      keys: expect.arrayContaining([{ id: 'sandbox0', name: 'public sandbox key' }]),
    })
  })
})

describe('a search for verifications', () => {
  type Found = { verifications: Record<string, unknown>[]; next: string | null; searched_rows: number }
  const find = async (body: object) =>
    (
      await at.request('/admin/audit/verifications/search', { cookie: viewer, body })
    ).json() as unknown as Found

  it('returns each once, with the name of its key, in pages of fifty', async () => {
    const { verifications, next, searched_rows } = await find({})
    expect([verifications.length, next]).toEqual([41, null])
    expect(searched_rows).toBe((await allRows()).length)
    expect(verifications.at(-1)).toEqual({
      reference,
      started_at: expect.any(String),
      ended_at: expect.any(String),
      outcome: 'verified',
      operation: 'verify_nin',
      mode: 'test',
      key_id: 'sandbox0',
      key_name: 'public sandbox key',
      source_attempts: [{ name: 'sandbox', result: 'found', ms: expect.any(Number) }],
      consent_reference: null,
      purpose: null,
      difference: null,
    })
  })

  it('has the purpose, and says whether the phone differed or nobody was found', async () => {
    const send = (payload: object, headers = {}) =>
      at.app.inject({
        method: 'POST',
        url: '/api/v2/kyc/verify-nin',
        headers: { ...bearer(), ...headers },
        payload,
      })
    await send({ nin: OTHER, phone: '08000000000' }, { 'x-purpose': 'Loan' })
    await send({ nin: '00000000422', phone: PHONE })
    const { verifications } = await find({ outcome: 'not_verified' })
    expect(verifications).toMatchObject([
      { difference: 'no_record', purpose: null },
      { difference: 'phone', purpose: 'loan' },
    ])
    expect((await find({ purpose: 'LOAN' })).verifications).toHaveLength(1)
    expect((await find({ purpose: 'lo' })).verifications).toEqual([])
    expect((await search({ purpose: 'loan' })).rows).toHaveLength(1)
    const path = `/admin/audit/timelines/${verifications[1]?.reference}`
    expect((await at.request(path, { cookie: viewer })).json()).toMatchObject({
      purpose: 'loan',
      difference: 'phone',
    })
  })

  it('filters, by a number that is in no response as well', async () => {
    expect((await find({ outcome: 'source_timeout' })).verifications).toEqual([])
    expect((await find({ key: 'public sandbox key', source: 'sandbox' })).verifications).toHaveLength(43)
    const { verifications } = await find({ subject: { kind: 'nin', number: NIN } })
    expect(verifications.map((each) => each.reference)).toEqual([reference])
  })
})

describe('a timeline', () => {
  it('has the rows in order, with source attempts and without the subject hash', async () => {
    const answer = await at.request(`/admin/audit/timelines/${reference}`, { cookie: viewer })
    const { rows } = answer.json() as unknown as { rows: Row[] }
    expect(rows).toMatchObject([
      {
        phase: 'outcome',
        started_at: expect.any(String),
        outcome: 'verified',
        source_attempts: [{ name: 'sandbox', result: 'found' }],
      },
    ])
    expect(Object.keys(rows[0] ?? {})).not.toContain('subject')
  })

  it('says that rows are left out when a stored response was returned very often', async () => {
    const about = { request_reference: 'ver_often', outcome: 'verified' }
    const replays = Array.from({ length: 1000 }, () => ({ ...about, phase: 'replay' }))
    const read = async () =>
      (await at.request('/admin/audit/timelines/ver_often', { cookie: viewer })).json() as unknown as {
        rows: Row[]
        has_more_replays: boolean
      }
    await at.context.audit.record(replays)
    expect([(await read()).rows.length, (await read()).has_more_replays]).toEqual([1000, false])
    await at.context.audit.record([{ ...about, phase: 'outcome' }])
    const { rows, has_more_replays } = await read()
    expect([rows.length, rows.at(-1)?.phase, has_more_replays]).toEqual([1000, 'outcome', true])
  })

  it('is 404 for an unknown reference', async () => {
    expect((await at.request('/admin/audit/timelines/ver_none', { cookie: viewer })).status).toBe(404)
  })
})

describe('an export', () => {
  it('is a file with every row, and is audited', async () => {
    const answer = await fetch(`${at.url}/admin/audit/export`, { headers: { cookie: operator } })
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="audit-\d{4}-\d\d-\d\d\.ndjson"$/,
    )
    const lines = (await answer.text()).trimEnd().split('\n')
    expect(lines).toHaveLength((await allRows()).length)
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ phase: 'audit_exported', detail: 'by operator' })
  })

  it('is forbidden for viewers', async () => {
    for (const name of ['export', 'extract.csv', 'extract.ndjson'])
      expect((await at.request(`/admin/audit/${name}`, { cookie: viewer })).status).toBe(403)
  })

  it.each(['csv', 'ndjson'])('of what is filtered is a signed %s file, and is audited', async (format) => {
    const person = at.context.toSubjectHash('nin', NIN)
    const answer = await fetch(`${at.url}/admin/audit/extract.${format}?person=${person}`, {
      headers: { cookie: operator },
    })
    expect(answer.headers.get('content-type')).toContain(format)
    expect(answer.headers.get('content-disposition')).toMatch(
      new RegExp(`^attachment; filename="audit-extract-[0-9-]{10}\\.${format}"$`),
    )
    const { publicKey } = createSigner(at.context.keyring()['audit-signing'])
    const content = Readable.from([Buffer.from(await answer.arrayBuffer())])
    expect(await verifyExtract(content, toPublicKey(publicKey, 'The key'))).toMatchObject({
      sound: true,
      rows: 1,
      unproved: 0,
      about: { view: 'verifications', filter: { person } },
    })
    const audited = (await allRows()).findLast(({ phase }) => phase === 'audit_exported')
    expect(audited).toMatchObject({
      subject: person,
      detail: `extract of verifications (${format}), filtered by: person; by operator`,
    })
  })

  it('of single rows has administrative events', async () => {
    const answer = await fetch(`${at.url}/admin/audit/extract.ndjson?view=rows&phase=source_checked`, {
      headers: { cookie: operator },
    })
    const lines = (await answer.text()).trimEnd().split('\n')
    expect(lines.filter((line) => line.includes('"phase":"source_checked"'))).toHaveLength(40)
  })

  it('is checked where it was made, with the key that can be downloaded', async () => {
    const headers = { cookie: operator }
    const pem = await (await fetch(`${at.url}/admin/audit/public-key.pem`, { headers })).text()
    expect(pem).toBe(createSigner(at.context.keyring()['audit-signing']).publicKey)
    const content = await (await fetch(`${at.url}/admin/audit/extract.csv`, { headers })).text()
    const check = async (body: string) => {
      const type = { 'content-type': 'application/x-ndjson' }
      const init = { method: 'POST', headers: { ...headers, ...type, origin: at.url }, body }
      return (await fetch(`${at.url}/admin/audit/extract/check`, init)).json()
    }
    expect(await check(content)).toMatchObject({ sound: true, rows: expect.any(Number) })
    expect(await check(content.replace('verified', 'refused!'))).toMatchObject({
      sound: false,
      facts: [expect.stringMatching(/^Line \d+: /)],
    })
  })

  it('names an invalid filter', async () => {
    const answer = await at.request('/admin/audit/extract.csv?person=1', { cookie: operator })
    expect([answer.status, Object.keys(answer.json().errors as object)]).toEqual([422, ['person']])
  })

  it('of verifications is refused with a phase, which single rows have', async () => {
    for (const query of ['phase=record_revealed', 'phase=outcome&view=verifications']) {
      const answer = await at.request(`/admin/audit/extract.ndjson?${query}`, { cookie: operator })
      expect([answer.status, answer.json().errors]).toEqual([422, { phase: ['phase needs view=rows'] }])
    }
    const empty = await at.request('/admin/audit/extract.ndjson?phase=', { cookie: operator })
    expect(empty.status).toBe(200)
  })

  it.each([
    ['key', 'public sandbox ke'],
    ['outcome', 'verfied'],
    ['operation', 'verify_passport'],
  ])('of an unknown %s is refused, and not recorded', async (field, text) => {
    const before = (await allRows()).length
    const query = new URLSearchParams({ [field]: text })
    const answer = await at.request(`/admin/audit/extract.csv?${query}`, { cookie: operator })
    expect([answer.status, Object.keys(answer.json().errors as object)]).toEqual([422, [field]])
    expect((await allRows()).length).toBe(before)
  })
})

const PERSON = { name: 'ada', role: 'operator', session: '' } as const
const engines = hasPostgres() ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)

describe.each(engines)('the verification of the whole log on %s', (engine) => {
  const openLog = async (settings: Record<string, string> = {}) => {
    const database = engine === 'postgres' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    const app = await openTestApp({ ...database, ...settings })
    await app.createKey()
    return app
  }

  it('reports a sound log, compares it with the checkpoint file, and is audited', async () => {
    const { context, close } = await openLog()
    await context.audit.checkpoint()
    const checks = createChainChecks(context)
    expect(checks.read()).toMatchObject({ state: 'none', started_at: null })
    expect(checks.start(PERSON)).toMatchObject({ state: 'running', started_by: 'ada' })
    expect(() => checks.start(PERSON)).toThrow(/already/)
    await checks.finish()
    expect(checks.read()).toMatchObject({
      state: 'sound',
      rows: 1,
      total: 1,
      chains: 1,
      checkpoints: 1,
      unsigned: 0,
      headline:
        'No difference was found between the audit log and the checkpoints on this server, but a cut at the end of the log cannot be seen without checkpoints that were kept elsewhere.',
    })
    const [{ chain = '' } = {}] = await context.store.audit.chains()
    expect((await context.store.audit.page(chain, 1, 1))[0]).toMatchObject({
      phase: 'audit_verified',
      outcome: 'sound',
      detail: '1 rows, 1 chains; by ada',
    })
    await checks.close()
    await close()
  })

  it('finds that rows are missing which the checkpoint file covers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-checkpoints-'))
    const key = { TABBAT_ROOT_KEY: 'ab'.repeat(32) }
    const longer = await openLog(key)
    await longer.context.audit.checkpoint()
    const file = readFileSync(join(longer.context.config.dataDir, CHECKPOINT_FILE), 'utf8')
    await longer.close()
    const { context, close } = await openLog({ ...key, TABBAT_CHECKPOINT_DIR: folder })
    await writeFile(join(folder, CHECKPOINT_FILE), file)
    const checks = createChainChecks(context)
    checks.start(PERSON)
    await checks.finish()
    expect(checks.read()).toMatchObject({
      state: 'faulty',
      headline: expect.stringMatching(/First fault: chain .* row 1, /),
    })
    await checks.close()
    await close()
    await rm(folder, { recursive: true })
  })

  it('says that this server can write to the folder outside its data', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-checkpoints-'))
    const { context, close } = await openLog({ TABBAT_CHECKPOINT_DIR: folder })
    await context.audit.checkpoint()
    const checks = createChainChecks(context)
    checks.start(PERSON)
    await checks.finish()
    const { headline, limits } = checks.read()
    expect(headline).toBe(
      `No difference was found between the audit log and the checkpoints in ${folder}, but a cut at the end of the log cannot be seen if it was also made there, where this server can write.`,
    )
    expect(limits[0]).toMatch(/^Not compared: checkpoints that this server cannot change\./)
    await checks.close()
    await close()
    await rm(folder, { recursive: true })
  })

  it('says that there is no checkpoint file', async () => {
    const { context, close } = await openLog()
    const checks = createChainChecks(context)
    checks.start(PERSON)
    await checks.finish()
    const { state, compared } = checks.read()
    expect([state, compared[0]]).toEqual(['sound', expect.stringContaining(', 0 checkpoints in /')])
    await checks.close()
    await close()
  })

  it('stops when the server closes', async () => {
    const { context, close } = await openLog()
    const checks = createChainChecks(context)
    checks.start(PERSON)
    await checks.close()
    expect(checks.read().state).toBe('failed')
    await close()
  })
})

describe('the verification of the whole log', () => {
  it('is started by operators and shown to viewers', async () => {
    expect((await at.request('/admin/audit/check', { cookie: viewer, body: {} })).status).toBe(403)
    const begun = await at.request('/admin/audit/check', { cookie: operator, body: {} })
    expect(begun.json()).toMatchObject({ state: 'running', started_by: 'operator' })
    await expect
      .poll(async () => (await at.request('/admin/audit/check', { cookie: viewer })).json().state)
      .toBe('sound')
  })
})

it('tells how many archives a search does not read', async () => {
  const search = async (path: string) =>
    (await at.request(path, { cookie: viewer, body: {} })).json() as unknown as { archives: number }
  expect((await search('/admin/audit/search')).archives).toBe(0)
  const statement = { statement: '{}', signature: '', checkpointsUntil: '' }
  await at.context.store.archives.record({ number: 1, ...statement, recordedAt: 1, chains: [] })
  for (const path of ['/admin/audit/search', '/admin/audit/verifications/search'])
    expect((await search(path)).archives).toBe(1)
})
