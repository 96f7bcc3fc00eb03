import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { AUDIT_COLUMNS, type AuditRow } from '../../ledger/audit-row.ts'
import { isCount, isHash, isSigned } from '../open-checkpoint.ts'
import type { Signer } from '../signing.ts'
import { findInPage, type SubjectOfRow, toBucket, toKeys, toPages } from '../subject-blocks.ts'

/**
 * An archive is a file of zstd frames, one after another: `zstd -dc` prints all of it as NDJSON. Each frame can be read alone.
 * What is not NDJSON (the indexes, the places at the end) is in skippable frames, which zstd ignores.
 *
 *   header, field policies, checkpoints …, { rows, index of subjects, index of references } …, directory, statement, places
 *
 * docs/audit-format.md describes it for other programs.
 */

export const ARCHIVE_KIND = 'tabbat-audit-archive'
export const ARCHIVE_VERSION = 1

/** The columns of a row in an archive. The others follow from the block: its chain, its first row and the hash before it. */
export const ARCHIVE_COLUMNS = AUDIT_COLUMNS.filter(
  (column) => !['chain', 'sequence', 'previous_hash', 'hash'].includes(column),
)

/** Where a frame is in the file, in bytes. */
export type Place = { readonly at: number; readonly length: number }

/** Consecutive rows of a chain, and where their frame and its indexes are. */
export type BlockPlace = Place & {
  readonly chain: string
  readonly first: number
  readonly last: number
  readonly subjects: Place
  readonly references: Place
}

/** The first line of a frame of rows. Hashes are hex. */
export type BlockHeader = Pick<BlockPlace, 'chain' | 'first' | 'last'> & {
  readonly previous_hash: string
  readonly hash: string
}

export type Directory = {
  readonly policies: Place
  readonly checkpoints: readonly Place[]
  readonly blocks: readonly BlockPlace[]
}

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** A higher level saves about 1 % and takes several times as long. */
const LEVEL = 6

export const toFrame = (lines: readonly string[]): Promise<Buffer> =>
  compress(Buffer.from(`${lines.join('\n')}\n`), {
    params: {
      [constants.ZSTD_c_compressionLevel]: LEVEL,
      [constants.ZSTD_c_contentSizeFlag]: 1,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  })

/**
 * No frame is larger, packed or not. A block has 10 000 rows of some 400 bytes, a frame of checkpoints a page of them. The writer
 * reads an archive again before it removes a row, so that a larger frame would end the run.
 */
export const MAX_FRAME_BYTES = 256 * 1024 * 1024

/** A frame says how much memory its unpacking needs. Those of the writer need less. */
const WINDOW = { [constants.ZSTD_d_windowLogMax]: 24 }

/** In a thread. Fails if the content is larger than `maxBytes`, without unpacking more than that. */
export const decompressFrame = (bytes: Buffer, maxBytes: number): Promise<Buffer> =>
  decompress(bytes, { maxOutputLength: maxBytes, params: WINDOW })

export function toLines(content: Buffer): string[] {
  const text = content.toString('utf8').trimEnd()
  return text === '' ? [] : text.split('\n')
}

const SKIPPABLE = 0x184d2a5a
const SKIPPABLE_HEADER = 8

export function toSkippableFrame(content: Uint8Array): Buffer {
  const frame = Buffer.alloc(SKIPPABLE_HEADER + content.length)
  frame.writeUInt32LE(SKIPPABLE, 0)
  frame.writeUInt32LE(content.length, 4)
  frame.set(content, SKIPPABLE_HEADER)
  return frame
}

/** Where the content of a skippable frame is. */
export const toContent = ({ at, length }: Place): Place => ({
  at: at + SKIPPABLE_HEADER,
  length: length - SKIPPABLE_HEADER,
})

/** The end of the file: where the directory and the statement are. */
export const PLACES_BYTES = SKIPPABLE_HEADER + 4 * 8

export function toPlacesFrame(directory: Place, statement: Place): Buffer {
  const content = Buffer.alloc(4 * 8)
  for (const [index, value] of [directory.at, directory.length, statement.at, statement.length].entries())
    content.writeBigUInt64BE(BigInt(value), index * 8)
  return toSkippableFrame(content)
}

/** Undefined when these bytes are not the end of an archive. */
export function readPlaces(
  bytes: Buffer,
): { readonly directory: Place; readonly statement: Place } | undefined {
  if (bytes.length !== PLACES_BYTES || bytes.readUInt32LE(0) !== SKIPPABLE) return undefined
  const number = (index: number) => Number(bytes.readBigUInt64BE(SKIPPABLE_HEADER + index * 8))
  return {
    directory: { at: number(0), length: number(1) },
    statement: { at: number(2), length: number(3) },
  }
}

export const toRowLine = (row: AuditRow): string =>
  JSON.stringify(ARCHIVE_COLUMNS.map((column) => row[column]))

/**
 * The rows of a block by a text of theirs: a subject or a request_reference. First the ends of 256 buckets, as unsigned 32-bit
 * integers, then their entries: see subject-blocks.ts.
 */
const BUCKETS = 256
const ENDS_BYTES = BUCKETS * 4

export function toIndex(rows: readonly SubjectOfRow[], first: number): Buffer {
  const pages = new Map(toPages(toKeys(rows, first)))
  const ends = Buffer.alloc(ENDS_BYTES)
  const parts: Uint8Array[] = [ends]
  let end = 0
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const page = pages.get(bucket)
    if (page) parts.push(page)
    end += page?.length ?? 0
    ends.writeUInt32BE(end, bucket * 4)
  }
  return Buffer.concat(parts)
}

type ReadBytes = (place: Place) => Promise<Buffer>

/** The sequences of the rows that may have this text. Reads one bucket. */
export async function findInIndex(
  read: ReadBytes,
  index: Place,
  text: string,
  first: number,
): Promise<number[]> {
  const bucket = toBucket(text)
  const before = Math.max(bucket - 1, 0)
  const ends = await read({ at: index.at + before * 4, length: (bucket - before + 1) * 4 })
  const from = bucket === 0 ? 0 : ends.readUInt32BE(0)
  const to = ends.readUInt32BE(ends.length - 4)
  if (to <= from) return []
  const page = await read({ at: index.at + ENDS_BYTES + from, length: to - from })
  return findInPage(page, text, first)
}

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
