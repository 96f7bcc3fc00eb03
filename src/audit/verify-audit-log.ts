import type { AuditSnapshot } from './audit-snapshot.ts'
import { type Fault, type SoundPrefix, verifyChain } from './verify-chain.ts'
import {
  type CheckpointOptions,
  type CheckpointsVerdict,
  toUnchecked,
  verifyCheckpoints,
} from './verify-checkpoints.ts'
import { createRowHasher, toReference } from './verify-row.ts'

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
