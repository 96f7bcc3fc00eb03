import type { AuditSnapshot, Cells } from '../audit-snapshot.ts'
import type { Fault } from './fault.ts'
import { createRowHasher, HASHED_FIELDS, type RowHasher, toReference, ZERO_HASH } from './row-hasher.ts'
import {
  type CheckpointOptions,
  type CheckpointsVerdict,
  toUnchecked,
  verifyCheckpoints,
} from './verify-checkpoints.ts'

/** The verifier shares no code with the writer, so that a bug in one is found by the other. */
export type VerifyOptions = CheckpointOptions

/** The last row of a chain. */
export type ChainEnd = { readonly chain: string; readonly sequence: number; readonly hash: string }

export type Verdict = Omit<CheckpointsVerdict, 'signedRows' | 'isArchived'> & {
  readonly sound: boolean
  readonly rows: number
  readonly chains: number
  /** Rows that no checkpoint covers yet. */
  readonly unsigned: number
  /** The last row of each chain, to compare with a record stored elsewhere; empty when a row is faulty. */
  readonly ends: readonly ChainEnd[]
}

/** Reads the whole log. Returns whether it is unchanged, or the first fault. */
export async function verifyAuditLog(scan: AuditSnapshot, options: VerifyOptions): Promise<Verdict> {
  const places = new Map<string, SoundPrefix>()
  const fault = await verifyChains(scan, places, options)
  const { signedRows, isArchived, ...checkpoints } = fault
    ? toUnchecked(fault)
    : await verifyCheckpoints(scan, options)
  const filled = [...places].filter(([chain, { length }]) => length > 0 && !isArchived(chain))
  const rows = filled.reduce((sum, [, { length }]) => sum + length, 0)
  return {
    ...checkpoints,
    sound: checkpoints.fault === undefined,
    rows,
    chains: filled.length,
    ends: fault ? [] : filled.map(([chain, { length, hash }]) => ({ chain, sequence: length, hash })),
    unsigned: rows - signedRows,
  }
}

async function verifyChains(
  scan: AuditSnapshot,
  places: Map<string, SoundPrefix>,
  { onProgress }: VerifyOptions,
): Promise<Fault | undefined> {
  const hashRow = createRowHasher()
  const references = new Set<unknown>()
  const total = await scan.countRows()
  let rows = 0
  const onRows = (more: number) => {
    rows += more
    onProgress?.(rows, total)
  }
  for (const chain of await scan.chains()) {
    const result = await verifyChain(scan, chain, hashRow, onRows, references)
    if ('reason' in result) {
      places.set(chain, { length: (result.sequence ?? 1) - 1, hash: '' })
      return result
    }
    places.set(chain, result)
  }
  return rows === total ? verifyPolicies(scan, references) : findUnclaimedRow(scan)
}

/** Every field policy that a row refers to must exist, with the text that its id was computed from. */
export async function verifyPolicies(
  scan: AuditSnapshot,
  references: ReadonlySet<unknown>,
): Promise<Fault | undefined> {
  const policies = new Map(await scan.policies())
  for (const id of references) {
    if (id === null) continue
    const fields = policies.get(id)
    if (typeof fields === 'string' && toReference(fields) === id) continue
    const what = fields === undefined ? 'is missing' : 'was changed'
    return { chain: null, sequence: null, reason: `the field policy ${id}, to which rows refer, ${what}` }
  }
  return undefined
}

/** There are more rows than the known chains hold. */
async function findUnclaimedRow(scan: AuditSnapshot): Promise<Fault> {
  const [chain, sequence] = (await scan.findUnclaimedRow()) ?? []
  return {
    chain: typeof chain === 'string' ? chain : null,
    sequence: Number.isSafeInteger(sequence) ? Number(sequence) : null,
    reason: 'there are rows of a chain that is not in audit_chains: they were inserted from outside',
  }
}

/** The sound part of a chain: the sequence and the hash of its last good row. */
type SoundPrefix = { readonly length: number; readonly hash: string }

const ROWS_AT_ONCE = 1000
const SEQUENCE_AT = HASHED_FIELDS.indexOf('sequence')
const RELEASED_AT = HASHED_FIELDS.indexOf('fields_released')
const FORMAT_AT = HASHED_FIELDS.length
const PREVIOUS_AT = FORMAT_AT + 1
const HASH_AT = PREVIOUS_AT + 1

/** Checks a chain row by row. Returns where it ends, or its first fault. Collects the references to field policies. */
async function verifyChain(
  scan: AuditSnapshot,
  chain: string,
  hashRow: RowHasher,
  onRows: (rows: number) => void,
  references: Set<unknown>,
): Promise<SoundPrefix | Fault> {
  let place: SoundPrefix = { length: 0, hash: ZERO_HASH }
  let next = scan.rows(chain, 0, ROWS_AT_ONCE)
  for (;;) {
    const rows = await next.catch(toNoRows)
    if (!rows) return { chain, sequence: place.length + 1, reason: UNREADABLE }
    if (rows.length === 0) return place
    // Reads the next page while this one is hashed. A failure is handled in the next round.
    next = scan.rows(chain, place.length + rows.length, ROWS_AT_ONCE)
    next.catch(() => {})
    const result = verifyRows(rows, place, hashRow, references)
    if ('reason' in result) return { chain, ...result }
    place = result
    onRows(rows.length)
  }
}

function verifyRows(
  rows: readonly Cells[],
  { length, hash }: SoundPrefix,
  hashRow: RowHasher,
  references: Set<unknown>,
): SoundPrefix | Omit<Fault, 'chain'> {
  let sequence = length
  let previous = hash
  for (const row of rows) {
    sequence += 1
    const computed = hashRow(row, previous, row[FORMAT_AT])
    if (row[SEQUENCE_AT] !== sequence || row[PREVIOUS_AT] !== previous || row[HASH_AT] !== computed)
      return { sequence, reason: explain(row, sequence, previous, computed) }
    references.add(row[RELEASED_AT])
    previous = computed as string
  }
  return { length: sequence, hash: previous }
}

const UNREADABLE = 'the row holds an impossible number: it was changed'

function explain(row: Cells, sequence: number, previous: string, computed: string | undefined): string {
  const found = row[SEQUENCE_AT]
  if (!Number.isSafeInteger(found)) return 'the row holds an impossible sequence: it was changed'
  if (found !== sequence) return `the row is missing: the next row is row ${found}`
  if (computed === undefined) return 'the row holds a value that its format does not allow: it was changed'
  if (row[PREVIOUS_AT] !== previous)
    return 'the row does not follow the row before it: one of the two was changed, removed or inserted'
  return 'the hash of the row does not match its content: the row was changed'
}

/** SQLite can hold integers that JavaScript cannot; a genuine log holds none. */
function toNoRows(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_OUT_OF_RANGE') throw error
  return undefined
}
