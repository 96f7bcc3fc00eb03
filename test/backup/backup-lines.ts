import { createHmac, type KeyObject } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parseRootKey } from '../../src/crypto/root-key.ts'

export const toLines = (bytes: Uint8Array) => gunzipSync(bytes).toString().trimEnd().split('\n')

/** The key of the backups of a root key. */
export const toBackupKeyOf = (rootKey: string): KeyObject => parseRootKey(rootKey, 'The key').derive('backup')

/** A backup with changed lines, and the MAC that only the holder of the root key can compute. */
export function rewriteBackup(
  bytes: Uint8Array,
  key: KeyObject,
  change: (lines: string[]) => string[],
  changeCounts: (counts: object) => object = (counts) => counts,
): Buffer {
  const lines = toLines(bytes)
  const { counts } = JSON.parse(lines.pop() ?? '') as { counts: object }
  const text = change(lines)
    .map((line) => `${line}\n`)
    .join('')
  const end = `{"end":true,"counts":${JSON.stringify(changeCounts(counts))}`
  const mac = createHmac('sha256', key).update(text).update(end).digest('hex')
  return gzipSync(`${text}${end},"mac":"${mac}"}\n`)
}

/** Changes a value in the first row of a table. */
export function changeFirst(table: string, column: string, change: (value: unknown) => unknown) {
  return (lines: string[]): string[] => {
    const at = lines.findIndex((line) => line.startsWith(`{"table":"${table}"`))
    const { columns } = JSON.parse(lines[at] ?? '') as { columns: string[] }
    const row = JSON.parse(lines[at + 1] ?? '') as unknown[]
    const place = columns.indexOf(column)
    return lines.with(at + 1, JSON.stringify(row.with(place, change(row[place]))))
  }
}
