import type { KeyObject } from 'node:crypto'
import { isCount, isHash, isSigned } from '../open-checkpoint.ts'
import type { Signer } from '../signing.ts'
import { ARCHIVE_KIND, ARCHIVE_VERSION } from './archive-format.ts'

/** The last row of an archived chain. The hash is hex. */
export type ArchivedChain = { readonly chain: string; readonly sequence: number; readonly hash: string }

/** What an archive contains. It is signed, and is in the archive itself, in audit_archives and in a row of the audit log. */
export type ArchiveStatement = {
  readonly kind: typeof ARCHIVE_KIND
  readonly version: typeof ARCHIVE_VERSION
  /** From 1, without a gap. */
  readonly number: number
  /** The digest of the archive before; null for the first. */
  readonly previous: string | null
  readonly time: string
  readonly before: string
  readonly by: string
  readonly rows: number
  readonly checkpoints: number
  /** The time of its last checkpoint. */
  readonly checkpoints_until: string
  /** The size of the file before the statement, and its SHA-256 in hex. */
  readonly bytes: number
  readonly digest: string
  /** Whole chains. */
  readonly chains: readonly ArchivedChain[]
}

export type SignedStatement = { readonly statement: string; readonly signature: string }

export function signStatement(
  content: Omit<ArchiveStatement, 'kind' | 'version'>,
  signer: Signer,
): SignedStatement {
  const statement = JSON.stringify({ kind: ARCHIVE_KIND, version: ARCHIVE_VERSION, ...content })
  return { statement, signature: signer.sign(statement) }
}

/** Undefined when the signature or the form is wrong. The key also signs checkpoints, which are no statements. */
export function openStatement(
  { statement, signature }: { readonly statement: unknown; readonly signature: unknown },
  publicKey: KeyObject,
): ArchiveStatement | undefined {
  if (typeof statement !== 'string' || !isSigned(statement, signature, publicKey)) return undefined
  const value = JSON.parse(statement) as Readonly<Record<string, unknown>>
  const { kind, version, number, rows, bytes, digest, chains } = value
  const isOne = kind === ARCHIVE_KIND && version === ARCHIVE_VERSION
  if (!isOne || ![number, rows, bytes].every(isCount) || !isHash(digest)) return undefined
  return Array.isArray(chains) && chains.every(isChain) ? (value as ArchiveStatement) : undefined
}

function isChain(value: unknown): value is ArchivedChain {
  const { chain, sequence, hash } = value as Readonly<Record<string, unknown>>
  return typeof chain === 'string' && isCount(sequence) && isHash(hash)
}
