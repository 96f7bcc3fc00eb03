import { mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { flag } from '../../src/database/define-table.ts'
import { isStoreFailure } from '../../src/database/failure.ts'
import { ReplacedServer, toPostgresUserError } from '../../src/database/postgres-user-error.ts'
import { createFileCheck } from '../../src/database/sqlite-files.ts'
import { toSqliteUserError } from '../../src/database/sqlite-user-error.ts'

describe('the files of a database that is open', () => {
  const PAGE = 4096
  const toWalBytes = (frames: number) => 32 + frames * (24 + PAGE)

  /** The files as they are at the first check, and a check after this change. */
  function checkAfter(change: (path: string) => void, frames = 0): void {
    const path = join(mkdtempSync(join(tmpdir(), 'tabbat-files-')), 'tabbat.db')
    writeFileSync(path, 'x'.repeat(100))
    writeFileSync(`${path}-wal`, 'x'.repeat(toWalBytes(3)))
    writeFileSync(`${path}-shm`, 'x'.repeat(100))
    const { check } = createFileCheck(path, () => ({ count: frames, pageSize: PAGE }))
    check()
    change(path)
    check()
  }
  const replace = (path: string) => {
    writeFileSync(`${path}.new`, 'x'.repeat(toWalBytes(3)))
    renameSync(`${path}.new`, path)
  }

  it.each(['', '-wal', '-shm'])('are lost if tabbat.db%s is removed or replaced', (suffix) => {
    const lost = (what: string) =>
      expect.objectContaining({ code: `DATABASE_LOST: tabbat.db${suffix} ${what}` })
    expect(() => checkAfter((path) => rmSync(path + suffix))).toThrow(lost('was removed'))
    expect(() => checkAfter((path) => replace(path + suffix))).toThrow(lost('was replaced'))
  })

  it('are lost if the database is shorter, and not if it is longer', () => {
    expect(() => checkAfter((path) => truncateSync(path, 99))).toThrow('tabbat.db was truncated')
    expect(() => checkAfter((path) => writeFileSync(path, 'x'.repeat(101)))).not.toThrow()
    expect(() => checkAfter((path) => truncateSync(`${path}-shm`, 1))).not.toThrow()
  })

  it('are lost if the write-ahead log is shorter than its frames', () => {
    const cut = (path: string) => truncateSync(`${path}-wal`, toWalBytes(2))
    expect(() => checkAfter(cut, 3)).toThrow('tabbat.db-wal was truncated')
    expect(() => checkAfter(cut, 2)).not.toThrow()
    expect(() => checkAfter((path) => truncateSync(`${path}-wal`, 0))).not.toThrow()
  })

  it('are not lost if another process empties the log and writes to it while it is measured', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'tabbat-files-')), 'tabbat.db')
    for (const suffix of ['', '-wal', '-shm']) writeFileSync(path + suffix, 'x'.repeat(toWalBytes(3)))
    const write = (frames: number) => {
      writeFileSync(`${path}-wal`, 'x'.repeat(toWalBytes(frames)))
      return { count: frames, pageSize: PAGE }
    }
    const emptyAfterCounting = () => {
      const counted = write(2)
      truncateSync(`${path}-wal`, 0)
      return counted
    }
    const counts = [() => write(2), emptyAfterCounting, () => write(1)]
    const { check } = createFileCheck(path, () => counts.shift()?.() ?? { count: 0, pageSize: PAGE })
    check()
    truncateSync(`${path}-wal`, 0)
    expect(check).not.toThrow()
    check()
    truncateSync(`${path}-wal`, 0)
    expect(check).not.toThrow()
    expect(counts).toEqual([])
  })
})

describe('what is wrong with a database, in words', () => {
  const sqlite = (errcode: number) =>
    toSqliteUserError('/data/tabbat.db', Object.assign(new Error('x'), { errcode }))
  const postgres = (error: unknown, url = 'postgres://user:secret@db.example:5432/tabbat') =>
    toPostgresUserError(url, error)

  it('of SQLite says what to do, also with an extended code', () => {
    const extended = (code: number) => code + 256
    expect(sqlite(extended(5)).message).toMatch(/^\/data\/tabbat\.db was locked by another process/)
    expect(sqlite(extended(10)).message).toBe('The disk of /data/tabbat.db fails (SQLite 266). Check it.')
    const unknown = Object.assign(new Error('x'), { errcode: 1 })
    expect(toSqliteUserError('/data/tabbat.db', unknown)).toBe(unknown)
  })

  it.each(['57014', '55P03'])('of PostgreSQL that was too slow say so: %s', (code) => {
    const late = Object.assign(new Error('canceling statement due to statement timeout'), { code })
    expect(postgres(late).message).toBe(
      `PostgreSQL at db.example:5432 did not execute a statement in time (${code}). It is overloaded, or another transaction holds a lock. Run this again.`,
    )
  })

  it('of PostgreSQL names the server without the password', () => {
    expect(postgres(new ReplacedServer()).message).toMatch(
      /^PostgreSQL at db\.example:5432 was replaced: another server has been promoted, .* delete postgres\.timeline in the data folder/,
    )
    const ended = Object.assign(new Error('canceling statement due to conflict with recovery'), {
      code: '40001',
    })
    expect(postgres(ended).message).toContain('Set max_standby_streaming_delay = -1')
    const refused = Object.assign(new Error('x'), { code: '28P01' })
    expect(postgres(refused, 'postgres:///tabbat?host=/run/postgresql').message).toMatch(
      /^PostgreSQL at \/run\/postgresql refused the user or password/,
    )
    expect(postgres(refused, 'postgres:///tabbat').message).toMatch(/^PostgreSQL at localhost refused/)
    const unknown = Object.assign(new Error('x'), { code: '22012' })
    expect(postgres(unknown)).toBe(unknown)
  })

  it('is no failure of the database if a bug of ours threw a text', () => {
    expect(isStoreFailure('out of order')).toBe(false)
    expect(isStoreFailure(Object.assign(new Error('x'), { errcode: 10 }))).toBe(true)
  })
})

it('a flag is stored as 1 or 0', () => {
  const { encode, decode } = flag()
  for (const value of [true, false]) expect(decode(encode(value))).toBe(value)
  expect([encode(true), encode(false)]).toEqual([1, 0])
})
