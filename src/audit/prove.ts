import type { KeyObject } from 'node:crypto'
import { UserError } from '../errors.ts'
import type { AuditRow } from '../store/audit-row.ts'
import { type AuditSnapshot, withAuditSnapshot } from '../store/audit-snapshot.ts'
import type { Checkpoint } from '../store/audit-table.ts'
import type { Store } from '../store/store.ts'
import { checkProof, PROOF_KIND, type Proof, type ProofRow, toProofText } from './check-proof.ts'
import { makeCheckpoint, refuseOlderStore } from './checkpoint.ts'
import { toMerklePath } from './merkle.ts'
import { openCheckpoint, type SignedHead, toPublicKey } from './open-checkpoint.ts'
import type { Signer } from './signing.ts'

/** What is needed to prove something: the log, and the right to sign where it stands. */
export type ProveDeps = {
  readonly store: Store
  readonly signer: Signer
  readonly checkpointDir: string
}

type Covering = { readonly checkpoint: Checkpoint; readonly head: SignedHead }

/** The text of a proof that the outcome of a verification is in the log. */
export async function prove(desk: ProveDeps, reference: string): Promise<string> {
  const { store, signer } = desk
  const publicKey = toPublicKey(signer.publicKey, 'The key')
  const row = await findRow(store, reference)
  const covering =
    (await findCovering(store, publicKey, row)) ??
    (await signNow(desk).then(() => findCovering(store, publicKey, row)))
  if (!covering)
    throw new UserError('No checkpoint speaks for this row: some are missing. See: tabbat audit verify')
  const proof: Proof = {
    kind: PROOF_KIND,
    version: 1,
    row: toProofRow(row),
    path: await findPath(store, row, covering.head),
    checkpoint: toPlain(covering.checkpoint),
  }
  const text = toProofText(proof)
  const result = checkProof(Buffer.from(text), publicKey)
  if (result.sound) return text
  throw new UserError(`This row cannot be proved: ${result.reason}. See: tabbat audit verify`)
}

/** What came of it; where that was never written, that it was begun. */
async function findRow({ audit }: Store, reference: string): Promise<AuditRow> {
  const rows = await audit.byReference(reference)
  const row = rows.find(({ phase }) => phase === 'outcome') ?? rows[0]
  if (!row) throw new UserError('There is nothing in the audit log under this reference.')
  return row
}

function findCovering(store: Store, publicKey: KeyObject, row: AuditRow): Promise<Covering | undefined> {
  return withAuditSnapshot(store, async (scan) => {
    // A checkpoint is younger than its rows, unless somebody has set the clock.
    return (await findAfter(scan, publicKey, row, row.time)) ?? (await findAfter(scan, publicKey, row, ''))
  })
}

async function findAfter(
  scan: AuditSnapshot,
  publicKey: KeyObject,
  { chain, sequence }: AuditRow,
  after: string,
): Promise<Covering | undefined> {
  for await (const page of scan.checkpoints(after))
    for (const checkpoint of page) {
      const opened = openCheckpoint(checkpoint, publicKey)
      const heads = 'heads' in opened ? opened.heads : []
      const head = heads.find(
        (each) => each.chain === chain && each.from < sequence && sequence <= each.sequence,
      )
      if (head) return { checkpoint, head }
    }
  return undefined
}

/** What somebody has cut off or written anew is not signed. */
async function signNow({ store, signer, checkpointDir }: ProveDeps): Promise<void> {
  await refuseOlderStore(store.audit, checkpointDir)
  await makeCheckpoint(store.audit, signer, checkpointDir)
}

async function findPath(
  { audit }: Store,
  { chain, sequence }: AuditRow,
  { from, sequence: upTo }: SignedHead,
) {
  return toMerklePath(await audit.hashes(chain, from, upTo), sequence - from - 1)
}

function toProofRow({ previous_hash, hash, ...fields }: AuditRow): ProofRow {
  const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  return { ...fields, previous_hash: toHex(previous_hash), hash: toHex(hash) }
}

const toPlain = ({ time, body, signature }: Checkpoint): Checkpoint => ({ time, body, signature })
