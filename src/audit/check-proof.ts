import type { KeyObject } from 'node:crypto'
import { isHash, openCheckpoint } from './open-checkpoint.ts'
import { climb, type ProofStep } from './verify/merkle-tree.ts'
import { createRowHasher, FORMAT, HASHED_FIELDS, toReference } from './verify/row-hasher.ts'

type Field = (typeof HASHED_FIELDS)[number]

/** A row in a proof: every column, hashes as hex. */
export type ProofRow = { readonly [F in Field]: F extends 'sequence' ? number : string | null } & {
  readonly format: number
  readonly previous_hash: string
  readonly hash: string
}

/** Proves that a row was in the log when a checkpoint was signed. The signature covers all of it. */
export type Proof = {
  readonly kind: typeof PROOF_KIND
  /** The format of the row. */
  readonly version: typeof FORMAT
  readonly row: ProofRow
  /** The names of the released fields. */
  readonly released: string | null
  readonly path: readonly ProofStep[]
  readonly checkpoint: { readonly time: string; readonly body: string; readonly signature: string }
}

export const PROOF_KIND = 'tabbat-audit-proof'

export type ProofResult =
  | {
      readonly sound: true
      readonly row: ProofRow
      /** The names of the released fields. */
      readonly released: string | null
      readonly signedAt: string
    }
  | { readonly sound: false; readonly reason: string }

const no = (reason: string): ProofResult => ({ sound: false, reason })

/** Checks a proof with nothing but its bytes and the public key of the log. */
export function checkProof(bytes: Uint8Array, publicKey: KeyObject): ProofResult {
  const proof = parseProof(bytes)
  if (!proof) return no('this is not a proof as tabbat audit prove writes it')
  const { row, released, path, checkpoint } = proof
  const fields = HASHED_FIELDS.map((field) => row[field])
  if (createRowHasher()(fields, row.previous_hash, row.format) !== row.hash)
    return no('the hash of the row does not match its content')
  if (row.fields_released !== (released && toReference(released)))
    return no('the released fields are not those that the row refers to')
  const opened = openCheckpoint(checkpoint, publicKey)
  if ('wrong' in opened) return no(`the checkpoint ${opened.wrong}`)
  const head = opened.heads.find(({ chain }) => chain === row.chain)
  if (!head || row.sequence <= head.from || row.sequence > head.sequence)
    return no('the checkpoint does not cover this row')
  if (climb(row.hash, row.sequence - head.from - 1, head.sequence - head.from, path) !== head.root)
    return no('the path does not lead from the row to the signed root')
  return { sound: true, row, released, signedAt: checkpoint.time }
}

/** The canonical text of a proof. Any other formatting of the same content is refused. */
export const toProofText = (proof: Proof) => `${JSON.stringify(proof, null, 2)}\n`

function parseProof(bytes: Uint8Array): Proof | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const { kind, version, row, released, path, checkpoint } = JSON.parse(text) as Proof
    const proof: Proof = {
      kind,
      version,
      row: toRow(row),
      released,
      path: path.map(({ side, hash }) => ({ side, hash })),
      checkpoint: { time: checkpoint.time, body: checkpoint.body, signature: checkpoint.signature },
    }
    return isProof(proof) && toProofText(proof) === text ? proof : undefined
  } catch {
    return undefined
  }
}

const COLUMNS = [...HASHED_FIELDS, 'format', 'previous_hash', 'hash'] as const

const toRow = (row: ProofRow) =>
  Object.fromEntries(COLUMNS.map((column) => [column, row[column]])) as ProofRow

const isProof = ({ kind, version, row, released, path, checkpoint }: Proof) =>
  kind === PROOF_KIND &&
  version === FORMAT &&
  row.format === FORMAT &&
  isField(released, 'released') &&
  isHash(row.hash) &&
  isHash(row.previous_hash) &&
  HASHED_FIELDS.every((field) => isField(row[field], field)) &&
  checkpoint.body.isWellFormed() &&
  path.every(({ side, hash }) => (side === 'left' || side === 'right') && isHash(hash))

/** A lone surrogate would be hashed like the replacement character. */
const isField = (value: unknown, field: string) =>
  field === 'sequence'
    ? Number.isSafeInteger(value) && Number(value) > 0
    : value === null || (typeof value === 'string' && value.isWellFormed())
