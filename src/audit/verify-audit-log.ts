import type { AuditSnapshot } from '../store/audit-snapshot.ts'
import { type Fault, type SoundPrefix, verifyChain } from './verify-chain.ts'
import { type CheckpointOptions, type CheckpointsVerdict, verifyCheckpoints } from './verify-checkpoints.ts'
import { createRowHasher } from './verify-row.ts'

/** What the log is held against. This side shares no code with the one that writes it. */
export type VerifyOptions = CheckpointOptions & {
  readonly onProgress?: (rows: number, total: number) => void
  /** What another thread finds out about the checkpoints. Without it, they are looked at after the rows. */
  readonly statements?: Promise<CheckpointsVerdict>
}

/** The last row of a chain. */
export type ChainEnd = { readonly chain: string; readonly sequence: number; readonly hash: string }

export type Verdict = Omit<CheckpointsVerdict, 'signedRows'> & {
  readonly sound: boolean
  readonly rows: number
  readonly chains: number
  /** Rows that no checkpoint speaks for yet. */
  readonly unsigned: number
  /** The last row of each chain, for comparing it with what was noted elsewhere; none of a log with a fault in its rows. */
  readonly ends: readonly ChainEnd[]
}

/** Of a log whose rows are faulty, nobody asks what the checkpoints say. */
const UNASKED: CheckpointsVerdict = {
  fault: undefined,
  checkpoints: 0,
  signedRows: 0,
  file: { checkpoints: 0, unreadable: 0, last: undefined },
}

/** Reads the whole log and says whether it is the one that was written, or the first thing that is wrong. */
export async function verifyAuditLog(scan: AuditSnapshot, options: VerifyOptions): Promise<Verdict> {
  const places = new Map<string, SoundPrefix>()
  const fault = await verifyChains(scan, places, options)
  const { signedRows, ...statements } = fault
    ? { ...UNASKED, fault }
    : await (options.statements ?? verifyCheckpoints(scan, options))
  const filled = [...places].filter(([, { length }]) => length > 0)
  const rows = filled.reduce((sum, [, { length }]) => sum + length, 0)
  return {
    ...statements,
    sound: statements.fault === undefined,
    rows,
    chains: filled.length,
    ends: fault ? [] : filled.map(([chain, { length, hash }]) => ({ chain, sequence: length, hash })),
    // Another thread may have seen younger checkpoints.
    unsigned: Math.max(rows - signedRows, 0),
  }
}

async function verifyChains(
  scan: AuditSnapshot,
  places: Map<string, SoundPrefix>,
  { onProgress }: VerifyOptions,
): Promise<Fault | undefined> {
  const hashRow = createRowHasher()
  const total = await scan.countRows()
  let rows = 0
  const onRows = (more: number) => {
    rows += more
    onProgress?.(rows, total)
  }
  for (const chain of await scan.chains()) {
    const result = await verifyChain(scan, chain, hashRow, onRows)
    if ('reason' in result) {
      places.set(chain, { length: (result.sequence ?? 1) - 1, hash: '' })
      return result
    }
    places.set(chain, result)
  }
  return rows === total ? undefined : findStranger(scan)
}

/** There are more rows than the chains hold. */
async function findStranger(scan: AuditSnapshot): Promise<Fault> {
  const [chain, sequence] = (await scan.findUnclaimedRow()) ?? []
  return {
    chain: typeof chain === 'string' ? chain : null,
    sequence: Number.isSafeInteger(sequence) ? Number(sequence) : null,
    reason: 'there are rows that belong to no chain in audit_chains: they were put in from outside',
  }
}
