import { describe, expect, it } from 'vitest'
import { AUDIT_COLUMNS, type AuditRow } from '../../src/ledger/audit-row.ts'
import { encodeRows, readRows } from '../../src/ledger/encoded-rows.ts'

const toRow = (sequence: number, changes: Partial<AuditRow> = {}): AuditRow => ({
  chain: 'node-1',
  sequence,
  time: '2026-11-16T00:00:00.000Z',
  phase: 'outcome',
  request_reference: `ver_${sequence}`,
  key_id: 'abcd1234',
  mode: 'test',
  operation: 'verify_nin',
  subject: 'ab'.repeat(32),
  outcome: 'verified',
  sources: '[]',
  amount: null,
  consent_reference: null,
  fields_released: null,
  detail: null,
  started_at: null,
  format: 2,
  previous_hash: Buffer.alloc(32, sequence),
  hash: Buffer.alloc(32, sequence + 1),
  ...changes,
})

const toValues = (row: AuditRow) => AUDIT_COLUMNS.map((column) => row[column])
const readBack = (rows: readonly AuditRow[]) => {
  // As it arrives in the writer thread.
  const encoded = structuredClone(encodeRows(rows))
  return [...readRows(encoded)].map((values) =>
    values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value)),
  )
}

describe('encoded audit rows', () => {
  it.each<[string, AuditRow[]]>([
    ['none', []],
    ['rows that share fields', [toRow(1), toRow(2), toRow(3, { outcome: 'not_verified' }), toRow(4)]],
    ['an empty text beside NULL', [toRow(1, { detail: '' }), toRow(2), toRow(3, { detail: '' })]],
    [
      'text of many bytes a letter',
      [toRow(1, { detail: 'Ọláìtán €' }), toRow(2, { detail: '😀'.repeat(40) })],
    ],
    [
      'a prefix of the field before',
      [toRow(1, { detail: 'abc' }), toRow(2, { detail: 'ab' }), toRow(3, { detail: 'abcd' })],
    ],
    ['a row that is longer than usual', [toRow(1, { detail: 'x'.repeat(100_000) }), toRow(2)]],
    ['the last sequence and format 1', [toRow(Number.MAX_SAFE_INTEGER, { format: 1 })]],
  ])('are read back as they were: %s', (_name, rows) => {
    expect(readBack(rows)).toEqual(rows.map(toValues))
  })
})
