import { hash } from 'node:crypto'
import { type RowPages, UnexpectedValue } from '../../database/row-pages.ts'
import { createTree, type Tree } from './merkle-tree.ts'
import { FORMAT, HASHED_FIELDS } from './row-hasher.ts'

/** Consecutive rows of a chain, to be checked by one thread. */
export type Stretch = {
  readonly chain: string
  readonly after: number
  /** The hash of the row before, in hex. */
  readonly previous: string
  readonly segments: readonly Segment[]
}

/** Rows up to a sequence, and whether the Merkle root over them is wanted. */
export type Segment = { readonly upTo: number; readonly hasRoot: boolean }

/** Hashes in hex. */
export type CheckedSegment = { readonly hash: string; readonly root: string | undefined }

export type CheckedStretch = {
  readonly segments: readonly CheckedSegment[]
  /** The field policies that the rows refer to. */
  readonly references: readonly string[]
}

/** Checks the links and hashes of rows; undefined when any is wrong. verifyChain says which one, and why. */
type CheckStretch = (stretch: Stretch) => Promise<CheckedStretch | undefined>

/** Checks one stretch at a time. */
export function createStretchCheck(pages: RowPages): CheckStretch {
  return async (stretch) => {
    const position = toPosition(stretch)
    const take = (page: Buffer<ArrayBuffer>, length: number) => {
      if (!checkPage(position, page, length)) throw new UnexpectedValue()
    }
    const segments: CheckedSegment[] = []
    try {
      for (const { upTo, hasRoot } of stretch.segments) {
        position.tree = hasRoot ? createTree() : undefined
        await pages.read(stretch.chain, { after: position.sequence, upTo }, take)
        if (position.sequence !== upTo) return undefined
        segments.push({
          hash: Buffer.from(position.hash.buffer).toString('hex'),
          root: position.tree?.root(),
        })
      }
    } catch (error) {
      if (error instanceof UnexpectedValue) return undefined
      throw error
    }
    return { segments, references: [...position.references] }
  }
}

function toPosition({ after, previous }: Stretch): Position {
  const hash = new DataView(new ArrayBuffer(HASH_BYTES))
  Buffer.from(hash.buffer).write(previous, 'hex')
  return { sequence: after, hash, tree: undefined, references: new Set(), reference: Buffer.alloc(0) }
}

/** How far the rows of a chain are checked. */
type Position = {
  sequence: number
  /** The hash of the last row. */
  readonly hash: DataView<ArrayBuffer>
  /** Takes the rows as leaves, where the root is wanted. */
  tree: Tree | undefined
  /** The field policies that rows refer to. */
  readonly references: Set<string>
  /** The last one of them. */
  reference: Buffer
}

const HASH_BYTES = 32
const ABSENT = -1
const SEQUENCE_AT = HASHED_FIELDS.indexOf('sequence')
const RELEASED_AT = HASHED_FIELDS.indexOf('fields_released')
const FORMAT_AT = HASHED_FIELDS.length
const DIGIT_0 = 0x30

/** Where the fields of the row begin: the hashed ones, format, previous_hash, hash, and the end of the row. */
const places = new Int32Array(HASHED_FIELDS.length + 4)

/**
 * Checks the rows of a page (see row-pages.ts) and moves the position past them. False at the first row that is not sound: the
 * position is then of no use. The bytes that are hashed stand together in the page, but for the format before them and the
 * previous hash behind: both are put there.
 */
function checkPage(position: Position, page: Buffer<ArrayBuffer>, length: number): boolean {
  const view = new DataView(page.buffer, page.byteOffset, page.length)
  for (let at = 0; at < length; ) {
    const rowEnd = findPlaces(view, at + 2, length)
    if (rowEnd > length || !checkRow(position, { page, view, at, rowEnd })) return false
    at = rowEnd
  }
  return true
}

type RowBytes = {
  readonly page: Buffer
  readonly view: DataView
  readonly at: number
  readonly rowEnd: number
}

function checkRow(position: Position, { page, view, at, rowEnd }: RowBytes): boolean {
  position.sequence += 1
  const end = places[FORMAT_AT] as number
  if (!isNumber(view, end, FORMAT)) return false
  if (!isNumber(view, places[SEQUENCE_AT] as number, position.sequence)) return false
  const previousAt = (places[FORMAT_AT + 1] as number) + 4
  const hashAt = (places[FORMAT_AT + 2] as number) + 4
  if (hashAt - previousAt !== HASH_BYTES + 4 || rowEnd - hashAt !== HASH_BYTES) return false
  noteReference(position, page)
  page[at + 1] = FORMAT
  if (!movePrevious(position.hash, view, previousAt, end)) return false
  const computed = hash('sha256', page.subarray(at + 1, end + HASH_BYTES), 'binary')
  if (!takeHash(position.hash, view, hashAt, computed)) return false
  position.tree?.add(computed, 'latin1')
  return true
}

/** Puts the previous hash behind the fields, if it is the hash of the row before. */
function movePrevious(last: DataView, view: DataView, from: number, to: number): boolean {
  for (let index = 0; index < HASH_BYTES; index += 4) {
    const word = view.getInt32(from + index)
    if (word !== last.getInt32(index)) return false
    view.setInt32(to + index, word)
  }
  return true
}

/** Makes the hash of the row the last one, if it is the computed one. */
function takeHash(last: DataView, view: DataView, from: number, computed: string): boolean {
  for (let index = 0; index < HASH_BYTES; index += 4) {
    const word =
      (computed.charCodeAt(index) << 24) |
      (computed.charCodeAt(index + 1) << 16) |
      (computed.charCodeAt(index + 2) << 8) |
      computed.charCodeAt(index + 3)
    if (word !== view.getInt32(from + index)) return false
    last.setInt32(index, word)
  }
  return true
}

/** Returns where the row ends, or a number behind the page. */
function findPlaces(view: DataView, from: number, pageEnd: number): number {
  let at = from
  for (let index = 0; index < FORMAT_AT + 3; index++) {
    places[index] = at
    const length = at + 4 <= pageEnd ? view.getInt32(at) : Number.NaN
    if (!(length >= ABSENT)) return Number.MAX_SAFE_INTEGER
    at += 4 + (length === ABSENT ? 0 : length)
  }
  return at
}

/** Whether the field is this number in decimal. */
function isNumber(view: DataView, field: number, wanted: number): boolean {
  let rest = wanted
  let at = field + 3 + view.getInt32(field)
  for (; rest > 0 && at > field + 3; at--) {
    const digit = rest % 10
    if (view.getUint8(at) !== DIGIT_0 + digit) return false
    rest = (rest - digit) / 10
  }
  return rest === 0 && at === field + 3
}

/** Rows that follow each other mostly have the same. */
function noteReference(position: Position, page: Buffer): void {
  const from = (places[RELEASED_AT] as number) + 4
  const to = places[RELEASED_AT + 1] as number
  const { reference } = position
  if (page.readInt32BE(from - 4) === ABSENT) return
  if (reference.length === to - from && reference.compare(page, from, to) === 0) return
  position.reference = Buffer.from(page.subarray(from, to))
  position.references.add(position.reference.toString())
}
