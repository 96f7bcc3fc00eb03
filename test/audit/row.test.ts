import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type AuditEntry, EMPTY_HEAD, linkEntries, toPolicyId } from '../../src/audit/row.ts'
import { createRowHasher, HASHED_FIELDS } from '../../src/audit/verify/row-hasher.ts'
import { createRowBuffer, encodeRows, toEncodedRows } from '../../src/ledger/encoded-rows.ts'

const TIME = '2026-11-17T08:00:00.000Z'
const ENTRY: AuditEntry = {
  ...{
    phase: 'outcome',
    time: TIME,
    request_reference: 'ver_1',
    key_id: 'k',
    mode: 'live',
    operation: 'verify_nin',
  },
  ...{
    subject: 'ab',
    outcome: 'verified',
    sources: '[]',
    amount: '5',
    consent_reference: 'form',
    detail: 'd',
  },
  ...{ fields_released: 'first_name,last_name', started_at: '2026-11-17T07:59:59.000Z' },
}

describe('rows of the log', () => {
  it('have the fields of their entries, and null for those that are absent', () => {
    const [full, bare] = linkEntries('node-1', EMPTY_HEAD, [ENTRY, { phase: 'signed_in', time: TIME }])
    expect(full).toMatchObject({
      ...ENTRY,
      ...{ chain: 'node-1', sequence: 1, format: 2, fields_released: toPolicyId('first_name,last_name') },
    })
    const {
      chain,
      sequence,
      phase,
      time,
      format,
      previous_hash,
      hash: ownHash,
      ...rest
    } = bare as NonNullable<typeof bare>
    expect([chain, sequence, phase, time, format]).toEqual(['node-1', 2, 'signed_in', TIME, 2])
    expect(previous_hash).toEqual(full?.hash)
    expect(ownHash).toHaveLength(32)
    expect([...new Set(Object.values(rest))]).toEqual([null])
    expect(Object.keys(rest)).toHaveLength(12)
  })

  it('continue a chain after its last row, each with the hash before it, as the verifier computes it', () => {
    const head = { sequence: 41, hash: Buffer.alloc(32, 7) }
    const rows = linkEntries('node-1', head, [ENTRY, ENTRY, { ...ENTRY, detail: null }])
    const hashRow = createRowHasher()
    let previous: Uint8Array = head.hash
    for (const [index, row] of rows.entries()) {
      expect(row.sequence).toBe(42 + index)
      expect(row.previous_hash).toEqual(previous)
      const fields = HASHED_FIELDS.map((field) => row[field])
      const before = Buffer.from(row.previous_hash).toString('hex')
      expect(Buffer.from(row.hash).toString('hex')).toBe(hashRow(fields, before, row.format))
      previous = row.hash
    }
    expect(new Set(rows.map((row) => Buffer.from(row.hash).toString('hex'))).size).toBe(3)
  })

  it('are encoded in the buffer that they are hashed in', () => {
    const buffer = createRowBuffer(1)
    const rows = linkEntries('node-1', EMPTY_HEAD, [ENTRY, ENTRY], buffer)
    expect(Buffer.from(toEncodedRows(buffer))).toEqual(Buffer.from(encodeRows(rows)))
  })

  it('without a time have the present one', () => {
    const before = Date.now() - 60_000
    const [row] = linkEntries('node-1', EMPTY_HEAD, [{ phase: 'signed_in' }])
    expect(Date.parse(row?.time ?? '')).toBeGreaterThan(before)
  })
})

it('the id of a field policy is the beginning of the hash of its text', () => {
  const id = hash('sha256', 'first_name', 'base64url').slice(0, 22)
  expect([toPolicyId('first_name'), toPolicyId('first_name')]).toEqual([id, id])
  expect(toPolicyId('last_name')).not.toBe(id)
})
