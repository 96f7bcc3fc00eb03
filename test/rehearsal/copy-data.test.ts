import { spawnSync } from 'node:child_process'
import { chmodSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { UserError } from '../../src/errors.ts'
import {
  copySqlite,
  createCopyFolders,
  findBackup,
  readRootKeys,
  requireRoom,
  toFolderError,
} from '../../src/rehearsal/copy-data.ts'
import { newFolder, SQLITE } from '../engines.ts'

it('takes the newest backup of a folder by the time in it, and by its name if that cannot be read', () => {
  const folder = newFolder()
  const write = (name: string, text: string, mtime: number) => {
    writeFileSync(join(folder, name), gzipSync(text))
    utimesSync(join(folder, name), mtime, mtime)
  }
  write('a.backup', 'no header', 400)
  write('b.backup', 'no header', 300)
  expect(findBackup(folder)).toEqual({ file: join(folder, 'b.backup'), unreadable: ['a.backup'] })
  const rows = `\n${'["row"]\n'.repeat(100_000)}`
  write('old.backup', `{"format":"tabbat-backup","created_at":"2026-01-01T00:00:00.000Z"}${rows}`, 200)
  write('new.backup', `{"format":"tabbat-backup","created_at":"2026-02-01T00:00:00.000Z"}${rows}`, 100)
  expect(findBackup(folder)).toEqual({
    file: join(folder, 'new.backup'),
    unreadable: ['b.backup', 'a.backup'],
  })
  expect(findBackup(join(folder, 'a.backup'))).toEqual({ file: join(folder, 'a.backup'), unreadable: [] })
})

it('names a truncated backup of a folder: it may be the newest', () => {
  const folder = newFolder()
  const whole = gzipSync('{"format":"tabbat-backup","created_at":"2026-01-01T00:00:00.000Z"}\n')
  writeFileSync(join(folder, 'tabbat-1.backup'), whole)
  writeFileSync(join(folder, 'tabbat-2.backup'), whole.subarray(0, 12))
  writeFileSync(join(folder, 'tabbat-3.backup'), '')
  expect(findBackup(folder)).toEqual({
    file: join(folder, 'tabbat-1.backup'),
    unreadable: ['tabbat-3.backup', 'tabbat-2.backup'],
  })
})

it('does not wait for the writer of a pipe in the folder', () => {
  const folder = newFolder()
  const whole = gzipSync('{"format":"tabbat-backup","created_at":"2026-01-01T00:00:00.000Z"}\n')
  writeFileSync(join(folder, 'tabbat-1.backup'), whole)
  spawnSync('mkfifo', [join(folder, 'tabbat-2.backup')])
  expect(findBackup(folder)).toEqual({
    file: join(folder, 'tabbat-1.backup'),
    unreadable: ['tabbat-2.backup'],
  })
})

it('says that a folder has no backup', () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'notes.txt'), 'of the operator')
  expect(() => findBackup(folder)).toThrow(`There is no file in ${folder} whose name ends with .backup.`)
})

describe('the root key of the copy', () => {
  const KEY = createRootKeyText()
  const PREVIOUS = createRootKeyText()
  const read = (given: Record<string, string>, dataDir = newFolder()) =>
    readRootKeys(loadConfig({ TABBAT_DATA_DIR: dataDir, ...given }, '/nowhere/.env'))

  it('is taken from the environment, with the previous one during a rotation', async () => {
    expect((await read({ TABBAT_ROOT_KEY: KEY }))[0]).toBe(KEY)
    expect(await read({ TABBAT_ROOT_KEY: KEY, TABBAT_ROOT_KEY_PREVIOUS: PREVIOUS })).toEqual([KEY, PREVIOUS])
  })

  it('is asked for by the command of the operator', async () => {
    const command = `printf '%s\\n%s\\n' ${KEY} ${PREVIOUS}`
    expect(await read({ TABBAT_ROOT_KEY_COMMAND: command })).toEqual([KEY, PREVIOUS])
  })

  it('is read from the data folder', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'root.key'), `${KEY}\n${PREVIOUS}\n`, { mode: 0o600 })
    expect(await read({}, folder)).toEqual([KEY, PREVIOUS])
  })

  it('is missing, or cannot be read, in a sentence that names the place', async () => {
    const folder = newFolder()
    const place = join(folder, 'root.key')
    await expect(read({}, folder)).rejects.toThrow(`The root key is missing. Put it at ${place} or set`)
    symlinkSync(place, place)
    await expect(read({}, folder)).rejects.toThrow(`The root key ${place} cannot be read (ELOOP).`)
  })

  it('that others can read is refused', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'root.key'), KEY)
    chmodSync(join(folder, 'root.key'), 0o644)
    await expect(read({}, folder)).rejects.toThrow(UserError)
  })
})

it('refuses a copy for which the temporary folder has no room', () => {
  const dataDir = newFolder()
  writeFileSync(join(dataDir, 'tabbat.db'), 'x'.repeat(1000))
  expect(() => requireRoom({ dataDir }, dataDir, 1)).not.toThrow()
  expect(() => requireRoom({ dataDir }, dataDir, 1e15)).toThrow(
    /^The copies need \d+ MB in the temporary folder .*TMPDIR/,
  )
})

it.each([
  ['of SQLite', { errcode: 13 }, /is full/],
  ['of the system', { code: 'ENOSPC', syscall: 'write' }, /is full/],
  ['of permissions', { code: 'EACCES', syscall: 'mkdtemp' }, /cannot be used \(EACCES\)/],
])('says what is wrong with the temporary folder by an error %s', (_whose, error, sentence) => {
  expect(toFolderError('/tmp/x', error)).toMatchObject({ message: expect.stringMatching(sentence) })
})

it('leaves an error of something else as it is', () => {
  const error = new TypeError('of ours')
  expect(toFolderError('/tmp/x', error)).toBe(error)
})

it('says that there is no room for the copy while it is made', async () => {
  const { options, open } = await SQLITE.createPlace()
  const server = await open()
  const to = createCopyFolders(newFolder())
  const full = Object.assign(new Error('database or disk is full'), { errcode: 13 })
  const progress = () => {
    throw full
  }
  const copying = copySqlite({ dataDir: options.dataDir, checkpointDir: '/nowhere' }, to, {
    rate: 1,
    progress,
  })
  await expect(copying).rejects.toThrow(`The disk of the temporary folder ${to.dataDir} is full.`)
  await server.close()
})

it('copies a SQLite database as it was, while another process commits between all steps', async () => {
  const { options, open } = await SQLITE.createPlace()
  const server = await open()
  const path = join(options.dataDir, 'tabbat.db')
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE written AS SELECT 0 AS step, zeroblob(400000) AS bytes')
  let step = 0
  const progress = () => {
    // Not for ever, so that this ends if the copy begins again each time.
    if (step < 500) other.prepare('INSERT INTO written (step) VALUES (?)').run(++step)
  }
  const to = createCopyFolders(newFolder())
  await copySqlite({ dataDir: options.dataDir, checkpointDir: undefined }, to, { rate: 20, progress })
  const copy = new DatabaseSync(join(to.dataDir, 'tabbat.db'))
  expect(step).toBeGreaterThan(2)
  expect(copy.prepare('SELECT MAX(step) AS step FROM written').get()).toEqual({ step: 0 })
  for (const each of [copy, other, server]) await each.close()
})
