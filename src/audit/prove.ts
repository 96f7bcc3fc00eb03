import { UserError } from '../errors.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { AuditStore } from './audit-store.ts'
import type { Checkpoint } from './audit-table.ts'
import { checkProof, PROOF_KIND, type Proof, type ProofRow, toProofText } from './check-proof.ts'
import { makeCheckpoint } from './checkpoint.ts'
import { findCovering, type LogWithArchives } from './covering-checkpoint.ts'
import { toMerklePath } from './merkle.ts'
import { type SignedHead, toPublicKey } from './open-checkpoint.ts'
import { refuseOlderStore } from './open-losses.ts'
import type { Signer } from './signing.ts'

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
    version: row.format as Proof['version'],
    row: toProofRow(row),
    ...(row.format === 1 ? {} : { released: row.released }),
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
  const added = format === 1 ? {} : { started_at, format }
  return { ...fields, ...added, previous_hash: toHex(previous_hash), hash: toHex(hash) }
}

const toPlain = ({ time, body, signature }: Checkpoint): Checkpoint => ({ time, body, signature })
