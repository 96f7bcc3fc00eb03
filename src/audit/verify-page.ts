import { hash } from 'node:crypto'
import { hashLeafInPlace, type NodeTree } from './verify-node-tree.ts'
import { FIELDS_OF_FORMAT_1, HASHED_FIELDS } from './verify-row.ts'

/** How far the rows of a chain are checked. */
export type Position = {
  sequence: number
  /** The hash of the last row. */
  readonly hash: Buffer
  /** Takes the rows as leaves, where the root is wanted. */
  tree: NodeTree | undefined
  /** The field policies that rows refer to. */
  readonly references: Set<string>
  /** The last one of them. */
  reference: Buffer
}

const HASH_BYTES = 32
const ABSENT = -1
const SEQUENCE_AT = HASHED_FIELDS.indexOf('sequence')
const RELEASED_AT = HASHED_FIELDS.indexOf('fields_released')
const STARTED_AT = FIELDS_OF_FORMAT_1.length
const FORMAT_AT = HASHED_FIELDS.length
const DIGIT_0 = 0x30

/** Where the fields of the row begin: the hashed ones, format, previous_hash, hash, and the end of the row. */
const places = new Int32Array(HASHED_FIELDS.length + 4)

/**
 * Checks the rows of a page (see row-pages.ts) and moves the position past them. False at the first row that is not sound: the
 * position is then of no use. The bytes that are hashed stand together in the page, but for the format before them and the
 * previous hash behind: both are put there.
 */
export function checkPage(position: Position, page: Buffer, length: number): boolean {
  for (let at = 0; at < length; ) {
    const rowEnd = findPlaces(page, at + 2)
    if (rowEnd > length || !checkRow(position, page, at, rowEnd)) return false
    at = rowEnd
  }
  return true
}

function checkRow(position: Position, page: Buffer, at: number, rowEnd: number): boolean {
  position.sequence += 1
  const format = readFormat(page)
  if (format === 0 || !isNumber(page, places[SEQUENCE_AT] as number, position.sequence)) return false
  const end = places[format === 1 ? STARTED_AT : FORMAT_AT] as number
  const previousAt = (places[FORMAT_AT + 1] as number) + 4
  const hashAt = (places[FORMAT_AT + 2] as number) + 4
  if (hashAt - previousAt !== HASH_BYTES + 4 || rowEnd - hashAt !== HASH_BYTES) return false
  if (format === 2) noteReference(position, page)
  page[at + 1] = format
  if (!movePrevious(position.hash, page, previousAt, end)) return false
  const computed = hash('sha256', page.subarray(at + 1, end + HASH_BYTES), 'binary')
  if (!takeHash(position.hash, page, hashAt, computed)) return false
  position.tree?.add(hashLeafInPlace(page, hashAt))
  return true
}

/** Puts the previous hash behind the fields, if it is the hash of the row before. */
function movePrevious(last: Buffer, page: Buffer, from: number, to: number): boolean {
  for (let index = 0; index < HASH_BYTES; index++) {
    const byte = page[from + index] as number
    if (byte !== last[index]) return false
    page[to + index] = byte
  }
  return true
}

/** Makes the hash of the row the last one, if it is the computed one. */
function takeHash(last: Buffer, page: Buffer, from: number, computed: string): boolean {
  for (let index = 0; index < HASH_BYTES; index++) {
    const byte = page[from + index] as number
    if (byte !== computed.charCodeAt(index)) return false
    last[index] = byte
  }
  return true
}

/** Returns where the row ends, or a number behind the page. */
function findPlaces(page: Buffer, from: number): number {
  let at = from
  for (let index = 0; index < FORMAT_AT + 3; index++) {
    places[index] = at
    const length = readLength(page, at)
    if (length < ABSENT) return Number.MAX_SAFE_INTEGER
    at += 4 + (length === ABSENT ? 0 : length)
  }
  return at
}

const readLength = (page: Buffer, at: number): number =>
  ((page[at] as number) << 24) |
  ((page[at + 1] as number) << 16) |
  ((page[at + 2] as number) << 8) |
  (page[at + 3] as number)

/** 1 or 2; 0 when it is another, or when a field is set that the format does not have. */
function readFormat(page: Buffer): 0 | 1 | 2 {
  const at = places[FORMAT_AT] as number
  if (isNumber(page, at, 2)) return 2
  return isNumber(page, at, 1) && readLength(page, places[STARTED_AT] as number) === ABSENT ? 1 : 0
}

/** Whether the field is this number in decimal. */
function isNumber(page: Buffer, field: number, wanted: number): boolean {
  let rest = wanted
  let at = field + 3 + readLength(page, field)
  for (; rest > 0 && at > field + 3; at--) {
    const digit = rest % 10
    if (page[at] !== DIGIT_0 + digit) return false
    rest = (rest - digit) / 10
  }
  return rest === 0 && at === field + 3
}

/** Rows that follow each other mostly have the same. */
function noteReference(position: Position, page: Buffer): void {
  const from = (places[RELEASED_AT] as number) + 4
  const to = places[RELEASED_AT + 1] as number
  const { reference } = position
  if (readLength(page, from - 4) === ABSENT) return
  if (reference.length === to - from && reference.compare(page, from, to) === 0) return
  position.reference = Buffer.from(page.subarray(from, to))
  position.references.add(position.reference.toString())
}
