import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { deleteOldBackups } from '../../src/backup/write-backup.ts'
import { loadRootKeys } from '../../src/crypto/root-key.ts'
import { waitUntil } from '../cluster/programs.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { type Settings, TABBAT, tabbat } from '../process/tabbat.ts'
import { keysOf, newSettings, toBatch, toConfig, withSealed } from '../registry/sealed-registry.ts'
import { changeFirst, rewriteBackup, toBackupKeyOf, toLines } from './backup-lines.ts'

const RECORDS = 4000
let source: Settings
let good: string

beforeAll(async () => {
  source = await newSettings('sqlite')
  good = join(source.TABBAT_DATA_DIR ?? '', 'good.backup')
  await withSealed(source, ({ store, keyring }) => store.registry.save(toBatch(keyring, 0, RECORDS, 3)))
  // Some rows of the audit log.
  await tabbat(source, 'keys', 'create', '--name', 'shop', '--mode', 'test')
  expect(await tabbat(source, 'backup', good)).toMatchObject({ code: 0 })
})

/** A copy with changed lines and a right MAC. */
function rewrite(change: (lines: string[]) => string[]): string {
  const file = join(mkdtempSync(join(tmpdir(), 'tabbat-changed-')), 'changed.backup')
  const [rootKey = ''] = keysOf(source)
  writeFileSync(file, rewriteBackup(readFileSync(good), toBackupKeyOf(rootKey), change))
  return file
}

function flipLastByte(value: unknown) {
  const bytes = Buffer.from((value as { base64: string }).base64, 'base64')
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  return { base64: bytes.toString('base64') }
}

const readMeta = () => withSealed(source, ({ store }) => store.meta.read())

/** Runs the check with a folder for temporary files of its own, which must be empty afterwards. */
async function check(file: string, ...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-tmp-'))
  const done = await tabbat({ ...source, TMPDIR: folder }, 'backup', 'check', file, ...args)
  expect(readdirSync(folder).filter((name) => name.startsWith('tabbat-'))).toEqual([])
  return done
}

describe('tabbat backup check', () => {
  it('restores a good backup into SQLite, and notes the result and nothing else in the database', async () => {
    const before = await readMeta()
    const { code, stdout, stderr } = await check(good, '--json')
    expect(stderr).not.toContain('warning')
    const rows = expect.objectContaining({ registry: RECORDS, media: 3, api_keys: 1 })
    expect(JSON.parse(stdout)).toMatchObject({ good: true, faults: [], opened: RECORDS + 3, rows })
    expect(JSON.parse(stdout).audit_rows).toBeGreaterThan(1)
    expect(code).toBe(0)
    expect(await readMeta()).toEqual({
      ...before,
      last_backup_check_at: expect.stringMatching(/^2/),
      last_backup_check_result: 'good',
      last_backup_check_of: JSON.parse(stdout).created_at,
    })
  })

  it('says that nobody is told where there is no database, and makes none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-elsewhere-'))
    const [rootKey = ''] = keysOf(source)
    const elsewhere = { TABBAT_DATA_DIR: folder, TABBAT_ROOT_KEY: rootKey }
    const { code, stderr } = await tabbat(elsewhere, 'backup', 'check', good)
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('doctor and the console are not told of this check. There is no database at'),
    ])
    expect(readdirSync(folder)).toEqual([])
  })

  it.skipIf(!hasPostgres())('restores it into an empty PostgreSQL, and refuses one with data', async () => {
    const url = await createTestDatabase()
    expect(await check(good, '--database-url', url)).toMatchObject({ code: 0 })
    const file = join(mkdtempSync(join(tmpdir(), 'tabbat-url-')), 'url')
    writeFileSync(file, `${url}\n`, { mode: 0o600 })
    const again = await check(good, '--database-url-file', file)
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('holds an audit log')])
    const both = await check(good, '--database-url-file', file, '--database-url', url)
    expect([both.code, both.stderr]).toEqual([1, expect.stringContaining('not both')])
    writeFileSync(file, 'postgres:/secret@')
    const wrong = await check(good, '--database-url-file', file)
    expect([wrong.code, wrong.stderr.includes('secret')]).toEqual([1, false])
  })

  it('finds a record that does not open', async () => {
    const { code, stdout } = await check(rewrite(changeFirst('registry', 'sealed', flipLastByte)), '--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      {
        good: false,
        opened: RECORDS + 2,
        faults: [`1 of ${RECORDS + 3} records and pictures cannot be opened.`],
      },
    ])
  })

  it('finds a record of a root key that is not known', async () => {
    const { code, stdout } = await check(rewrite(changeFirst('registry', 'key_version', () => 9)))
    expect([code, stdout]).toEqual([1, expect.stringContaining('1 of ')])
    expect(stdout).toContain('records and pictures cannot be opened.')
  })

  it('finds a changed row of the audit log', async () => {
    const { code, stdout } = await check(rewrite(changeFirst('audit', 'phase', () => 'key_revoked')))
    expect([code, stdout]).toEqual([1, expect.stringContaining('The audit log is not sound')])
  })

  it('refuses a file that is cut off', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'tabbat-cut-')), 'cut.backup')
    writeFileSync(file, readFileSync(good).subarray(0, -9))
    const { code, stderr } = await check(file)
    expect([code, stderr]).toEqual([1, expect.stringContaining('is damaged, cut off')])
    expect((await readMeta()).last_backup_check_result).toBe('bad')
    const missing = await check(`${file}.other`)
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('There is no file')])
    expect((await tabbat(source, 'doctor')).stdout).toMatch(/backups +The backup that was checked/)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('deletes its temporary files after %s', async (signal, exitCode) => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-tmp-'))
    const env = { ...source, PATH: process.env.PATH ?? '', TMPDIR: folder }
    const child = spawn(TABBAT.file, ['backup', 'check', good], { env, stdio: 'ignore' })
    const list = () => readdirSync(folder).filter((name) => name.startsWith('tabbat-check-'))
    await waitUntil('a temporary folder', async () => list().length > 0)
    const ended = once(child, 'exit')
    child.kill(signal)
    expect([await ended, list()]).toEqual([[exitCode, null], []])
  })
})

describe('tabbat backup --keep', () => {
  const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-kept-'))
  const toName = (day: number) => `tabbat-2026010${day}-020000.backup`

  it('writes a dated file, and deletes the oldest of its own only', async () => {
    const folder = newFolder()
    for (const day of [1, 2, 3]) writeFileSync(join(folder, toName(day)), readFileSync(good))
    const other = rewrite((lines) =>
      lines.with(0, JSON.stringify({ ...JSON.parse(lines[0] ?? ''), root_fingerprint: 'f'.repeat(64) })),
    )
    const stay = ['mine.backup', 'tabbat-20260101.backup']
    for (const name of stay) writeFileSync(join(folder, name), readFileSync(good))
    writeFileSync(join(folder, toName(4)), readFileSync(other))
    writeFileSync(join(folder, toName(5)), 'not a backup')
    const { code, stdout } = await tabbat(source, 'backup', '--json', '--keep', '2', folder)
    const { file, deleted } = JSON.parse(stdout) as { file: string; deleted: string[] }
    expect([code, deleted]).toEqual([0, [toName(1), toName(2)].map((name) => join(folder, name))])
    expect(readdirSync(folder).toSorted()).toEqual(
      [...stay, toName(3), toName(4), toName(5), file.slice(folder.length + 1)].toSorted(),
    )
    expect(file).toMatch(/tabbat-\d{8}-\d{6}\.backup$/)
  })

  it('does not count one of a later time, so that a clock that was wrong once costs no backup', async () => {
    const folder = newFolder()
    const later = 'tabbat-29990101-020000.backup'
    for (const name of [toName(1), toName(2), later]) writeFileSync(join(folder, name), readFileSync(good))
    const { code, stdout, stderr } = await tabbat(source, 'backup', '--json', '--keep', '2', folder)
    expect([code, JSON.parse(stdout).deleted]).toEqual([0, [join(folder, toName(1))]])
    expect(stderr).toContain(`They do not count for --keep, and stay: ${join(folder, later)}`)
    expect(readdirSync(folder)).toHaveLength(3)
  })

  it('checks with --check the file that it has written, whatever the others are called', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'tabbat-29990101-020000.backup'), 'not a backup')
    const args = ['backup', '--json', '--check', '--keep', '1', folder]
    const { code, stdout } = await tabbat(source, ...args)
    const { created_at, check: checked } = JSON.parse(stdout)
    expect([code, checked]).toMatchObject([0, { good: true, opened: RECORDS + 3, faults: [] }])
    expect(await readMeta()).toMatchObject({
      last_backup_check_result: 'good',
      last_backup_check_of: created_at,
    })
  })

  it('deletes nothing when the new one is not good by --check', async () => {
    const folder = newFolder()
    const damaged = await newSettings('sqlite')
    await withSealed(damaged, ({ store, keyring }) => store.registry.save(toBatch(keyring, 0, 2)))
    expect(await tabbat(damaged, 'backup', join(folder, toName(1)))).toMatchObject({ code: 0 })
    await withSealed(damaged, ({ store }) =>
      store.database.prepare('UPDATE registry SET sealed = $1').run(Buffer.alloc(40)),
    )
    const { code, stdout } = await tabbat(damaged, 'backup', '--check', '--keep', '1', folder)
    expect([code, stdout]).toEqual([1, expect.stringContaining('records and pictures cannot be opened')])
    expect(readdirSync(folder)).toHaveLength(2)
  })

  it('deletes nothing when the new one is damaged', async () => {
    const folder = newFolder()
    for (const day of [1, 2]) writeFileSync(join(folder, toName(day)), readFileSync(good))
    const newest = join(folder, toName(3))
    writeFileSync(newest, readFileSync(good).subarray(0, -9))
    const rootKeys = await loadRootKeys(toConfig(source), false)
    await expect(deleteOldBackups(folder, newest, { keep: 1, rootKeys })).rejects.toThrow('damaged')
    expect(readdirSync(folder)).toHaveLength(3)
  })

  it('leaves what only has such a name: a folder, a pipe, a text, another file that is packed, one of another root key', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, toName(1)))
    writeFileSync(join(folder, toName(2)), 'of another program')
    writeFileSync(join(folder, toName(3)), gzipSync('{"format":"other"}\n'))
    writeFileSync(join(folder, toName(4)), gzipSync('null\n'))
    writeFileSync(join(folder, toName(5)), gzipSync(''))
    const [first = '', ...lines] = toLines(readFileSync(good))
    const foreign = JSON.stringify({ ...JSON.parse(first), root_fingerprint: 'of another' })
    writeFileSync(join(folder, toName(6)), gzipSync(`${[foreign, ...lines].join('\n')}\n`))
    for (const day of [7, 8]) writeFileSync(join(folder, toName(day)), readFileSync(good))
    spawnSync('mkfifo', [join(folder, toName(9))])
    const rootKeys = await loadRootKeys(toConfig(source), false)
    const newest = join(folder, toName(8))
    expect(await deleteOldBackups(folder, newest, { keep: 1, rootKeys })).toEqual({
      deleted: [join(folder, toName(7))],
      later: [],
    })
    expect(readdirSync(folder)).toHaveLength(8)
  })

  it('asks for a folder', async () => {
    const { code, stderr } = await tabbat(source, 'backup', '--keep', '2', join(newFolder(), 'missing'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('is not a folder')])
  })
})
