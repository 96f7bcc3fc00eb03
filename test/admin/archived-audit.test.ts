import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { archiveLog } from '../../src/audit/archive/archive-log.ts'
import { verifyExtract } from '../../src/audit/extract/verify-extract.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { append, checkpoint, FIRST, type OldRow, writeOldLog } from '../audit/old-log.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

const NIN = '45678901234'

let at: TestConsole
let operator: string
let rows: readonly OldRow[]
const folder = mkdtempSync(join(tmpdir(), 'tabbat-archives-'))
const path = join(folder, '2020.audit.zst')
const signer = () => createSigner(at.context.keyring()['audit-signing'])

beforeAll(async () => {
  at = await openTestConsole({ TABBAT_AUDIT_ARCHIVE_DIR: folder })
  operator = await at.openSession('operator')
  const { store, config, audit, toSubjectHash } = at.context
  const subject = toSubjectHash('nin', NIN)
  const entry = { phase: 'outcome', request_reference: 'ver_person', outcome: 'verified', subject }
  await store.audit.claim(FIRST, null, 'old', Date.now())
  await append(store, FIRST, [{ ...entry, time: '2019-01-01T00:00:00.000Z' }])
  rows = await writeOldLog(store, config.dataDir, signer())
  await checkpoint(store, config.dataDir, signer())
  await archiveLog(Date.UTC(2020, 2), path, { store, signer: signer(), audit, by: 'test' })
})
afterAll(async () => {
  await at.close()
  rmSync(folder, { recursive: true })
})

type Result = {
  rows?: { request_reference: string }[]
  verifications?: { reference: string }[]
  next: string | null
  archives: number
  archives_note: string | null
}
const search = async (view: string, body: object) =>
  (await at.request(`/admin/audit/${view}search`, { cookie: operator, body })).json() as unknown as Result
const searchRows = (body: object) => search('', body)
const searchVerifications = (body: object) => search('verifications/', body)

it('finds archived rows by reference, person, consent and time', async () => {
  const [{ reference = '' } = {}] = rows
  expect((await searchRows({ reference })).rows).toMatchObject([{ request_reference: reference }])
  expect((await searchVerifications({ reference })).verifications).toMatchObject([{ reference }])
  const person = await searchVerifications({ subject: { kind: 'nin', number: NIN } })
  expect(person.verifications).toMatchObject([{ reference: 'ver_person' }])
  expect((await searchRows({ consent_reference: 'Adé ₦ “3”' })).rows).toHaveLength(4)
  const old = await searchRows({ to: '2020-03-01T00:00:00Z' })
  expect([old.rows?.length, old.archives, old.archives_note]).toEqual([50, 1, null])
  const next = await searchRows({ to: '2020-03-01T00:00:00Z', before: old.next })
  expect(next.rows).toHaveLength(50)
})

it('shows the timeline and the report about a person from archives', async () => {
  const timeline = (await at.request('/admin/audit/timelines/ver_person', { cookie: operator })).json()
  expect(timeline).toMatchObject({ rows: [{ chain: FIRST, sequence: 1 }], archives_note: null })
  expect((await at.request('/admin/audit/timelines/ver_unknown', { cookie: operator })).status).toBe(404)
  const body = { kind: 'nin', number: NIN, reason: 'asked by the person' }
  const report = (await at.request('/admin/people/report', { cookie: operator, body })).json()
  expect(report.requests).toMatchObject([{ request_reference: 'ver_person' }])
  expect(JSON.stringify(report.limits)).not.toContain('archives')
})

it('exports archived rows, with their proofs', async () => {
  const download = async (address: string) =>
    (await fetch(`${at.url}/admin/audit/${address}`, { headers: { cookie: operator } })).text()
  expect(await download('export')).toContain('"ver_person"')
  const extract = await download('extract.ndjson?to=2020-03-01T00:00:00Z')
  const publicKey = toPublicKey(signer().publicKey, 'The key')
  const result = await verifyExtract(Readable.from([Buffer.from(extract)]), publicKey)
  expect(result).toMatchObject({ sound: true, rows: 121, unproved: 0, about: { archives: 0 } })
})

it('leaves out an archive that is missing or was changed, and says so', async () => {
  const [{ reference = '' } = {}] = rows
  const elsewhere = `${path}.away`
  renameSync(path, elsewhere)
  const without = await searchRows({ reference })
  expect(without.rows).toEqual([])
  expect(without.archives_note).toMatch(
    /^1 of 1 archives of the audit log were not searched: rows from before 2020-03-01.* run: tabbat audit export --archive FOLDER$/,
  )
  const bytes = readFileSync(elsewhere)
  bytes[100] = (bytes[100] ?? 0) ^ 1
  writeFileSync(path, bytes)
  const changed = await searchRows({ reference })
  expect([changed.rows, changed.archives_note]).toEqual([
    [],
    expect.stringContaining('is not the file that was archived: it was changed or damaged'),
  ])
  const timeline = (await at.request(`/admin/audit/timelines/${reference}`, { cookie: operator })).json()
  expect(timeline).toMatchObject({ rows: [], archives_note: expect.stringContaining('was changed') })
  renameSync(elsewhere, path)
  expect((await searchRows({ reference })).rows).toHaveLength(1)
})
