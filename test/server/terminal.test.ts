import { afterEach, describe, expect, it, vi } from 'vitest'
import { failWith, toHarmless } from '../../src/server/terminal.ts'

describe('a message', () => {
  it.each([
    ['22345678901', '[number]'],
    ['customer-22345678901.csv', 'customer-[number].csv'],
    ['nin_22345678901', 'nin_[number]'],
    ['+2348031234567', '+[number]'],
    ['AB012345678910YZ', 'AB[number]YZ'],
    ['22345678901'.repeat(4), '[number]'],
  ])('does not show %s', (given, shown) => {
    expect(toHarmless(`There is no file ${given}.`)).toBe(`There is no file ${shown}.`)
  })

  it.each([
    'ver_01k9z0123456789012345678901234567890',
    `${'0123456789'.repeat(6)}abcd`,
    'It must be a number from 0 to 4294967295.',
    'port 65535, 300000000 rows, 2026-11-19T20:15:00.000Z',
  ])('shows %s', (text) => {
    expect(toHarmless(text)).toBe(text)
  })
})

describe('an error of the database', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    process.exitCode = undefined
  })
  const tell = (error: unknown) => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    write.mockClear()
    failWith(error)
    return write.mock.calls.map(([text]) => String(text).replace(/^.*?error:\S* /, '')).join('')
  }
  const toError = (errcode: number) =>
    Object.assign(new Error('SQL with values'), { code: 'ERR_SQLITE_ERROR', errcode })

  it.each([
    [
      13,
      'The disk of the SQLite database is full. Free some space, or set TABBAT_DATA_DIR to another disk.\n',
    ],
    [
      4874,
      'The disk of the SQLite database is full. Free some space, or set TABBAT_DATA_DIR to another disk.\n',
    ],
    [10, 'The disk of the SQLite database fails (SQLite 10). Check it.\n'],
    [
      11,
      'The SQLite database is damaged or is not a Tabbat database. Restore a backup or move the file away.\n',
    ],
    [5, 'The SQLite database was locked by another process for too long. End that process.\n'],
  ])('%i is a sentence, wherever it was met', (errcode, text) => {
    expect(tell(toError(errcode))).toBe(text)
    expect(tell(new Error('the commit failed', { cause: toError(errcode) }))).toBe(text)
  })

  it('of another kind is a bug, and so is a file that is missing', () => {
    for (const error of [toError(19), Object.assign(new Error('missing'), { code: 'ENOENT' })])
      expect(tell(error)).toContain('this is a bug in Tabbat')
  })
})
