import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { FORMAT, FORMAT_VERSION, MAX_LINE_BYTES, toBackupKey, toMacText } from '../../src/backup/format.ts'
import { parseBackup } from '../../src/backup/read-backup.ts'
import { createRootKeyText, parseRootKey, type RootKeys } from '../../src/crypto/root-key.ts'
import { SCHEMA_VERSION } from '../../src/database/migrate.ts'

const MIB = 1024 * 1024
const rootKeys: RootKeys = {
  candidates: [parseRootKey(createRootKeyText(), '')],
  origin: 'file',
  where: '',
}
const HEADER = {
  format: FORMAT,
  version: FORMAT_VERSION,
  schema: SCHEMA_VERSION,
  root_fingerprint: rootKeys.candidates[0]?.fingerprint ?? '',
  created_at: new Date().toISOString(),
} as const
const COLUMNS = '{"table":"api_keys","columns":["id","name"]}'
const ROW = '["a","shop"]'

/** A backup with these lines and a right MAC, as only the holder of the root key can write it. */
async function* write(lines: readonly string[], counts: object) {
  const mac = createHmac('sha256', toBackupKey(rootKeys, HEADER))
  for (const line of [JSON.stringify(HEADER), ...lines]) {
    mac.update(`${line}\n`)
    yield Buffer.from(`${line}\n`)
  }
  const end = `{"end":true,"counts":${JSON.stringify(counts)}`
  yield Buffer.from(`${end}${toMacText(mac.update(end).digest('hex'))}\n`)
}

it('gives long rows in small pages, because a forged file is known only at its end', async () => {
  const row = JSON.stringify([...Array.from({ length: 2 }, () => 'x'.repeat(4 * MIB))])
  const text = write([COLUMNS, ...Array<string>(20).fill(row)], { api_keys: 20 })
  const pages: number[] = []
  const { counts } = await parseBackup(text, rootKeys, async ({ rows }) => void pages.push(rows.length))
  expect(counts).toEqual({ api_keys: 20 })
  expect(Math.max(...pages)).toBe(2)
})

describe('a backup with a right MAC', () => {
  const parse = (lines: readonly string[], counts: object = { api_keys: 1 }) =>
    parseBackup(write(lines, counts), rootKeys, async () => {}).then(
      () => 'good',
      (error: Error) => error.constructor.name,
    )

  it('is good, also if it counts a table without rows, or does not', async () => {
    expect(await parse([COLUMNS, ROW])).toBe('good')
    expect(await parse([COLUMNS, ROW], { api_keys: 1, meta: 0 })).toBe('good')
    expect(await parse([COLUMNS], {})).toBe('good')
  })

  it.each<[string, readonly string[], object?]>([
    ['a value that is of no database', [COLUMNS, '["a",true]']],
    ['bytes that are no text', [COLUMNS, '["a",{"base64":1}]']],
    ['a row with too few values', [COLUMNS, '["a"]']],
    ['a row before its table', [ROW, COLUMNS]],
    ['a table of another program', ['{"table":"sqlite_master","columns":["sql"]}', ROW]],
    ['a column that is no name', ['{"table":"api_keys","columns":["id","a, b"]}', ROW]],
    ['a line that is no JSON', [COLUMNS, ROW, '{"table":']],
    ['a line that is a number', [COLUMNS, ROW, '1']],
    ['a row more than it counts', [COLUMNS, ROW, ROW]],
    ['rows that it does not count', [COLUMNS, ROW], {}],
    ['fewer rows than it counts', [COLUMNS], { api_keys: 1 }],
  ])('is damaged with %s', async (_what, lines, counts) => {
    expect(await parse(lines, counts)).toBe('Damaged')
  })

  it('is damaged with a line that does not end, and is not held in memory', async () => {
    let given = 0
    async function* endless() {
      for (const piece = Buffer.alloc(4 * MIB, 'x'); ; given += piece.length) yield piece
    }
    await expect(parseBackup(endless(), rootKeys, async () => {})).rejects.toThrow()
    expect(given).toBeLessThanOrEqual(MAX_LINE_BYTES)
  })
})
