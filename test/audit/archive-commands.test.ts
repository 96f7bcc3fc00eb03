import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSigner } from '../../src/audit/signing.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { newFolder } from '../engines.ts'
import { TABBAT, tabbat } from '../process/tabbat.ts'
import { append, checkpoint, FIRST, type OldRow, writeOldLog } from './old-log.ts'

const NIN = '12345678901'

let app: TestApp
let folder: string
let rows: readonly OldRow[]
const run = (...args: string[]) => tabbat({ TABBAT_DATA_DIR: folder }, ...args)

beforeAll(async () => {
  app = await openTestApp()
  const { store, keyring, config } = app.context
  folder = config.dataDir
  const signer = createSigner(keyring()['audit-signing'])
  const subject = app.context.toSubjectHash('nin', NIN)
  await store.audit.claim(FIRST, null, 'old', Date.now())
  await append(store, FIRST, [
    { phase: 'outcome', time: '2019-01-01T00:00:00.000Z', subject, outcome: 'verified' },
  ])
  rows = await writeOldLog(store, folder, signer)
  await checkpoint(store, folder, signer)
})
afterAll(() => app.close())

const file = () => join(folder, 'old.audit.zst')

it.each([
  [['--before', 'yesterday', '--to', 'x.audit.zst'], '--before takes a date such as 2026-01-01.'],
  [['--before', '2026-02-30', '--to', 'x.audit.zst'], '--before takes a date such as 2026-01-01.'],
  [['--before', '2999-01-01', '--to', 'x.audit.zst'], '--before takes a date in the past'],
  [['--before', '2020-01-01', '--to', 'x.zip'], 'The name of an archive ends with .audit.zst'],
])('refuses %j', async (args, message) => {
  const { code, stderr } = await run('audit', 'archive', ...args)
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
})

it('writes no file if nothing is old enough', async () => {
  const to = join(folder, 'none.audit.zst')
  const { code, stdout } = await run('audit', 'archive', '--before', '2018-01-01', '--to', to)
  expect([code, stdout, existsSync(to)]).toEqual([
    0,
    'There was nothing to archive. No file was written.\n',
    false,
  ])
})

it('archives while the server runs, and verifies and searches the archive', async () => {
  const archived = await run('audit', 'archive', '--before', '2020-03-01', '--to', file(), '--json')
  expect(archived.stderr).not.toContain('error')
  expect(JSON.parse(archived.stdout)).toMatchObject({
    file: file(),
    number: 1,
    rows: 121,
    chains: 4,
    left: [],
  })
  const alone = await run('audit', 'verify')
  expect(alone.code).toBe(0)
  expect(alone.stdout).toContain('Not compared: 121 rows in 1 archive (number 1).')
  expect(alone.stdout).toMatch(
    /^No difference was found between the audit log, without 1 archive of it, and /,
  )
  const whole = await run('audit', 'verify', '--archive', file())
  expect(whole.stdout).toMatch(/^No difference was found between the audit log and /)
  expect([whole.code, whole.stdout]).toEqual([0, expect.stringContaining('121 rows in 1 archive.')])
  const [{ reference = '' } = {}] = rows
  const missing = await run('audit', 'show', reference)
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringContaining('1 of 1 archives of the audit log were not searched'),
  ])
  const shown = await run('audit', 'show', reference, '--archive', folder)
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('outcome: verified')])
})

it('takes a folder for archives that does not exist yet for one without archives', async () => {
  const settings = { TABBAT_DATA_DIR: folder, TABBAT_AUDIT_ARCHIVE_DIR: join(folder, 'later') }
  const { code, stdout } = await tabbat(settings, 'audit', 'verify')
  expect([code, stdout]).toEqual([0, expect.stringContaining('Not compared: 121 rows in 1 archive')])
})

it('proves an archived row with its archive, and says without it what to do', async () => {
  const [{ reference = '' } = {}] = rows
  const without = await run('audit', 'prove', reference)
  expect([without.code, without.stderr]).toEqual([
    1,
    expect.stringContaining('name its archive with --archive'),
  ])
  const proof = join(folder, 'proof.json')
  expect((await run('audit', 'prove', reference, '--archive', file(), '--out', proof)).code).toBe(0)
  const { code, stdout } = await run('audit', 'check-proof', proof)
  expect([code, stdout]).toEqual([0, expect.stringContaining(reference)])
})

it('exports archived rows, all of them or as an extract', async () => {
  const all = await run('audit', 'export', '--archive', folder)
  expect(all.stdout.trim().split('\n').length).toBeGreaterThan(121)
  expect([all.code, all.stderr]).toEqual([0, expect.not.stringContaining('archives')])
  const [{ reference = '' } = {}] = rows
  const out = join(folder, 'extract.ndjson')
  await run('audit', 'export', '--reference', reference, '--archive', folder, '--out', out)
  const { code, stdout } = await run('audit', 'verify-extract', out)
  expect([code, stdout]).toEqual([0, expect.stringContaining('Rows: 1. Proved by 1 signed checkpoints: 1.')])
  expect(stdout).toContain('has signed that these were all')
  const part = await run('audit', 'export', '--reference', reference, '--out', out, '--force')
  expect(part.stderr).toContain(
    '1 of 1 archives of the audit log were not searched: rows from before 2020-03-01',
  )
  const incomplete = await run('audit', 'verify-extract', out)
  expect(incomplete.stdout).toContain('NOT COMPLETE: 1 archive of the log was not read')
  expect(incomplete.stdout).not.toContain('these were all')
})

/** Runs a command with the number on standard input. */
async function ask(settings: Record<string, string>, ...args: string[]): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), TABBAT_DATA_DIR: folder, ...settings }
  const child = spawn(TABBAT.file, args, { env, stdio: 'pipe' })
  child.stdin.end(NIN)
  const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')])
  return stdout
}

it('lists the archived look-ups of a person', async () => {
  const stdout = await ask({ TABBAT_AUDIT_ARCHIVE_DIR: folder }, 'audit', 'subject', 'nin', '--json')
  expect(JSON.parse(stdout)).toMatchObject([{ chain: FIRST, sequence: 1, outcome: 'verified' }])
})

it('reports about a person what is archived, or that archives were not searched', async () => {
  const args = ['person', 'report', 'nin', '--reason', 'asked by the person', '--format', 'json']
  const whole = JSON.parse(await ask({ TABBAT_AUDIT_ARCHIVE_DIR: folder }, ...args))
  expect(JSON.stringify(whole)).toContain('2019-01-01T00:00:00.000Z')
  const part = JSON.parse(await ask({}, ...args))
  expect(JSON.stringify(part)).not.toContain('2019-01-01T00:00:00.000Z')
  expect(part.limits).toContainEqual(
    expect.stringMatching(/^1 of the archives of the audit log were not searched/),
  )
  expect(JSON.stringify(whole.limits)).not.toContain('archives')
})

it('lists the consents of archived verifications, or says that archives were not searched', async () => {
  const since = ['--since', '2019-01-01', '--json']
  const part = await run('consents', ...since)
  expect([part.code, part.stderr]).toEqual([0, expect.stringContaining('1 of 1 archives of the audit log')])
  const whole = await run('consents', ...since, '--archive', file())
  expect([whole.code, whole.stderr]).toEqual([0, expect.not.stringContaining('archives')])
  expect(JSON.parse(whole.stdout).consents.length).toBe(10)
  const one = await run('consents', 'Adé ₦ “3”', '--json', '--archive', file())
  expect(JSON.parse(one.stdout).requests).toHaveLength(4)
})

it('refuses an archive that was changed, and shows nothing of it', async () => {
  const [{ reference = '' } = {}] = rows
  const changed = join(newFolder(), 'changed.audit.zst')
  const bytes = readFileSync(file())
  // In a checkpoint, which a search for a reference does not read.
  bytes[Math.floor(bytes.length / 3)] = (bytes[Math.floor(bytes.length / 3)] ?? 0) ^ 1
  writeFileSync(changed, bytes)
  for (const args of [
    ['audit', 'show', reference],
    ['audit', 'prove', reference],
    ['audit', 'export'],
    ['consents'],
  ]) {
    const { code, stdout, stderr } = await run(...args, '--archive', changed)
    expect([args, code, stdout, stderr]).toEqual([
      args,
      1,
      '',
      expect.stringContaining('is not the file that was archived: it was changed or damaged'),
    ])
  }
})

it('does not take a copy of an archive for another one', async () => {
  copyFileSync(file(), join(folder, 'copy.audit.zst'))
  const statement = { statement: '{}', signature: '', checkpointsUntil: '' }
  await app.context.store.archives.record({ number: 2, ...statement, recordedAt: 1, chains: [] })
  const args = ['person', 'report', 'nin', '--reason', 'asked by the person', '--format', 'json']
  const { limits } = JSON.parse(await ask({ TABBAT_AUDIT_ARCHIVE_DIR: folder }, ...args))
  expect(limits).toContainEqual(
    expect.stringMatching(/^1 of the archives of the audit log were not searched/),
  )
  const shown = await run('audit', 'show', `ver_${'0'.repeat(36)}`, '--archive', folder)
  expect(shown.stderr).toContain('1 of 2 archives of the audit log were not searched')
})
