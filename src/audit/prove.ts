import type { KeyObject } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UserError } from '../errors.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { ArchivedLog } from './archive/whole-log.ts'
import { type AuditSnapshot, withAuditSnapshot } from './audit-snapshot.ts'
import type { AuditStore } from './audit-store.ts'
import type { Checkpoint } from './audit-table.ts'
import { checkProof, PROOF_KIND, type Proof, type ProofRow, toProofText } from './check-proof.ts'
import { makeCheckpoint } from './checkpoint.ts'
import { refuseOlderStore } from './losses.ts'
import { buildMerkleTree, type MerkleTree, type Step, toMerklePath } from './merkle.ts'
import { openCheckpoint, type SignedHead, toPublicKey } from './open-checkpoint.ts'
import type { Signer } from './signing.ts'
import { FORMAT } from './verify/row-hasher.ts'

/** The log, and the key that signs a new checkpoint where none covers the row yet. */
type ProveDeps = LogWithArchives & {
  readonly signer: Signer
  readonly checkpointDir: string
}

/** Returns a proof that the outcome of a verification is in the log. */
export async function prove(deps: ProveDeps, reference: string): Promise<string> {
  const { store, signer } = deps
  const publicKey = toPublicKey(signer.publicKey, 'The key')
  const row = await findRow(store, reference)
  const covering =
    (await findCovering(deps, publicKey, row)) ??
    (await signNow(deps).then(() => findCovering(deps, publicKey, row)))
  if (!covering)
    throw new UserError('No checkpoint covers this row: some are missing. Run: tabbat audit verify')
  const proof: Proof = {
    kind: PROOF_KIND,
    version: FORMAT,
    row: toProofRow(row),
    released: row.released,
    path: await findPath(store, row, covering.head),
    checkpoint: toPlain(covering.checkpoint),
  }
  const text = toProofText(proof)
  const result = checkProof(Buffer.from(text), publicKey)
  if (result.sound) return text
  throw new UserError(`This row cannot be proved: ${result.reason}. Run: tabbat audit verify`)
}

/** The outcome row; without one, the intent row. */
async function findRow({ audit }: AuditStore, reference: string): Promise<LoggedRow> {
  const rows = await audit.byReference(reference)
  const row = rows.find(({ phase }) => phase === 'outcome') ?? rows[0]
  if (!row)
    throw new UserError(
      'The audit log has no row with this reference. If the row was archived, name its archive with --archive or TABBAT_AUDIT_ARCHIVE_DIR.',
    )
  return row
}

/** Refuses to sign a log that was truncated or rewritten. */
async function signNow({ store, signer, checkpointDir }: ProveDeps): Promise<void> {
  await refuseOlderStore(store, checkpointDir)
  await makeCheckpoint(store.audit, signer, checkpointDir)
}

async function findPath(
  { audit }: AuditStore,
  { chain, sequence }: LoggedRow,
  { from, sequence: upTo }: SignedHead,
) {
  return toMerklePath(await audit.hashes(chain, from, upTo), sequence - from - 1)
}

function toProofRow(row: LoggedRow): ProofRow {
  const { format, started_at, previous_hash, hash, released: _, ...fields } = row
  const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  return { ...fields, started_at, format, previous_hash: toHex(previous_hash), hash: toHex(hash) }
}

const toPlain = ({ time, body, signature }: Checkpoint): Checkpoint => ({ time, body, signature })

/** A checkpoint, and its statement about the rows of a chain among which a row is. */
type Covering = { readonly checkpoint: Checkpoint; readonly head: SignedHead }

/** Nearly always one of the first checkpoints after the row covers it. */
const FIRST_LOOK = 4

/** The log, and its archives: the checkpoints of an archived row are in its archive. */
export type LogWithArchives = {
  readonly store: AuditStore
  readonly archived?: Pick<ArchivedLog, 'has' | 'checkpoints'> | undefined
}

/** The first checkpoint whose Merkle tree has the row. */
async function findCovering(
  { store, archived }: LogWithArchives,
  publicKey: KeyObject,
  row: LoggedRow,
): Promise<Covering | undefined> {
  const found =
    archived?.has(row.chain) && (await findIn(archived.checkpoints(row.chain, row.time), publicKey, row))
  if (found) return found
  for (const checkpoint of await store.audit.checkpointsFrom(row.time, FIRST_LOOK)) {
    const covering = toCovering(checkpoint, publicKey, row)
    if (covering) return covering
  }
  return withAuditSnapshot(store, async (scan) => {
    // A checkpoint is later than its rows, unless the clock was set back.
    return (await findAfter(scan, publicKey, row, row.time)) ?? (await findAfter(scan, publicKey, row, ''))
  })
}

const findAfter = (scan: AuditSnapshot, publicKey: KeyObject, row: LoggedRow, after: string) =>
  findIn(scan.checkpoints(after), publicKey, row)

async function findIn(
  pages: AsyncIterable<readonly Checkpoint[]>,
  publicKey: KeyObject,
  row: LoggedRow,
): Promise<Covering | undefined> {
  for await (const page of pages)
    for (const checkpoint of page) {
      const covering = toCovering(checkpoint, publicKey, row)
      if (covering) return covering
    }
  return undefined
}

function toCovering(checkpoint: Checkpoint, publicKey: KeyObject, row: LoggedRow): Covering | undefined {
  // A signature takes much longer to check.
  if (!checkpoint.body.includes(row.chain)) return undefined
  const opened = openCheckpoint(checkpoint, publicKey)
  const head = 'heads' in opened ? opened.heads.find((each) => covers(each, row)) : undefined
  return head && { checkpoint, head }
}

const covers = ({ chain, from, sequence }: SignedHead, row: Pick<LoggedRow, 'chain' | 'sequence'>): boolean =>
  chain === row.chain && from < row.sequence && row.sequence <= sequence

/** The checkpoint that covers a row, and the path from the row to its signed root. */
type RowProof = { readonly checkpoint: Checkpoint; readonly path: readonly Step[] }

type Tree = Covering & { readonly tree: MerkleTree }

/** Rows are read chain by chain backwards, so a few trees are enough. Each has up to some 10 000 rows. */
const MAX_TREES = 16
const HASHES_AT_ONCE = 1000

/**
 * Proves many rows: each tree is built once. Undefined when no checkpoint covers the row, or when rows that it covers are
 * missing or were changed. `sign` makes a checkpoint; it is called at most once, for rows that were written after the last one.
 */
export function createRowProver(
  log: LogWithArchives,
  publicKey: KeyObject,
  sign: () => Promise<void>,
): (row: LoggedRow) => Promise<RowProof | undefined> {
  const trees: Tree[] = []
  let isSigned = false
  const findNow = async (row: LoggedRow) => {
    const covering = await findCovering(log, publicKey, row)
    if (covering || isSigned) return covering
    isSigned = true
    await sign()
    return findCovering(log, publicKey, row)
  }
  const open = async (row: LoggedRow): Promise<Tree | undefined> => {
    const known = trees.find(({ head }) => covers(head, row))
    if (known) return known
    const covering = await findNow(row)
    if (!covering) return undefined
    const made = { ...covering, tree: await buildMerkleTree(readHashes(log.store, covering)) }
    trees.unshift(made)
    trees.splice(MAX_TREES)
    return made
  }
  return async (row) => {
    const { head, tree, checkpoint } = (await open(row)) ?? {}
    if (!head || !tree || !checkpoint || tree.root !== head.root) return undefined
    return { checkpoint, path: tree.pathOf(row.sequence - head.from - 1) }
  }
}

async function* readHashes({ audit }: AuditStore, { head: { chain, from, sequence } }: Covering) {
  for (let after = from; after < sequence; after += HASHES_AT_ONCE) {
    // SQLite answers synchronously: let other work run between two pages.
    await nextTurn()
    yield await audit.hashes(chain, after, Math.min(after + HASHES_AT_ONCE, sequence))
  }
}
