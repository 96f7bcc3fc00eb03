import { createHash } from 'node:crypto'

type Row = Readonly<Record<string, unknown>>

/** The fields in the order of docs/audit-format.md. Repeated here on purpose, independent of the writer's code. */
const FIELDS = [
  'chain',
  'sequence',
  'time',
  'phase',
  'request_reference',
  'key_id',
  'mode',
  'operation',
  'subject',
  'outcome',
  'sources',
  'amount',
  'consent_reference',
  'fields_released',
  'detail',
  'started_at',
] as const

/** The faults of these rows, which are sorted by chain and sequence. Empty for a sound log. */
export function findChainFaults(rows: Iterable<Row>): string[] {
  const faults: string[] = []
  let chain: unknown
  let sequence = 0
  let previous = '0'.repeat(64)
  for (const row of rows) {
    if (row.chain !== chain) [chain, sequence, previous] = [row.chain, 0, '0'.repeat(64)]
    sequence += 1
    const place = `chain ${row.chain}, row ${row.sequence}`
    if (Number(row.sequence) !== sequence) faults.push(`${place}: expected row ${sequence}`)
    if (toHex(row.previous_hash) !== previous) faults.push(`${place}: does not follow the row before`)
    if (toHex(row.hash) !== hashOf(row)) faults.push(`${place}: was changed`)
    sequence = Number(row.sequence)
    previous = toHex(row.hash)
  }
  return faults
}

function hashOf(row: Row): string {
  const format = Number(row.format)
  const hash = createHash('sha256').update(Buffer.of(format))
  for (const field of FIELDS) {
    const bytes = row[field] === null ? undefined : Buffer.from(String(row[field]))
    const length = Buffer.alloc(4, 0xff)
    if (bytes) length.writeUInt32BE(bytes.length)
    hash.update(length).update(bytes ?? '')
  }
  return hash.update(row.previous_hash as Uint8Array).digest('hex')
}

const toHex = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('hex')
