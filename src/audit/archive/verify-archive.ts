import type { KeyObject } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Checkpoint } from '../audit-table.ts'
import { isSameHead, openCheckpoint, type SignedHead } from '../open-checkpoint.ts'
import type { Fault } from '../verify/fault.ts'
import { createTree } from '../verify/merkle-tree.ts'
import {
  createRowHasher,
  HASHED_FIELDS,
  type RowHasher,
  toReference,
  ZERO_HASH,
} from '../verify/row-hasher.ts'
import {
  ARCHIVE_COLUMNS,
  type ArchivedChain,
  type ArchiveStatement,
  openStatement,
} from './archive-format.ts'
import {
  type ArchiveBlock,
  type ArchiveReader,
  type FoundArchive,
  hasDigest,
  UnreadableArchive,
} from './read-archive.ts'

type VerifyArchiveOptions = {
  readonly publicKey: KeyObject
  readonly onRows?: ((rows: number) => void) | undefined
  /** Called for each checkpoint, after its signature is found good. */
  readonly onCheckpoint?: ((checkpoint: Checkpoint) => void) | undefined
}

/** Not sound: where, and why. */
class Unsound extends Error {
  readonly fault: Fault

  constructor(reason: string, chain: string | null = null, sequence: number | null = null) {
    super('the archive is not sound')
    this.fault = { chain, sequence, reason }
  }
}

/**
 * Reads a whole archive and checks it without the database: its statement, its bytes, every row, every checkpoint. Returns the
 * statement, or the first fault. Shares no code with the writer for what is hashed and signed.
 */
export async function verifyArchive(
  file: FoundArchive,
  options: VerifyArchiveOptions,
): Promise<ArchiveStatement | Fault> {
  try {
    return await verify(file, options)
  } catch (error) {
    if (error instanceof Unsound) return error.fault
    if (error instanceof UnreadableArchive)
      return { chain: null, sequence: null, reason: error.message.replace(/\.$/, '') }
    throw error
  }
}

async function verify(file: FoundArchive, options: VerifyArchiveOptions): Promise<ArchiveStatement> {
  const { path } = file
  const statement = openStatement(file.signed, options.publicKey)
  if (!statement)
    throw new Unsound(
      `the statement in ${path} has no valid signature: it was changed, or signed with another key`,
    )
  if (!(await hasDigest(file, statement)))
    throw new Unsound(`${path} is not the file that was archived: it was changed or damaged`)
  // Only now: what is not ours is never unpacked.
  const reader = await file.readContent()
  const heads = await verifyCheckpoints(reader, statement, options)
  const references = new Set<unknown>()
  for (const chain of statement.chains)
    await verifyChain(reader, chain, createHeadChecks(heads.get(chain.chain) ?? []), {
      references,
      ...options,
    })
  await verifyPolicies(reader, references)
  return statement
}

async function verifyCheckpoints(
  reader: ArchiveReader,
  { checkpoints }: ArchiveStatement,
  { publicKey, onCheckpoint }: VerifyArchiveOptions,
): Promise<Map<string, SignedHead[]>> {
  const heads = new Map<string, SignedHead[]>()
  let count = 0
  for await (const page of reader.readCheckpoints())
    for (const checkpoint of page) {
      const opened = openCheckpoint(checkpoint, publicKey)
      if ('wrong' in opened) throw new Unsound(`a checkpoint in ${reader.path} ${opened.wrong}`)
      collectHeads(heads, opened.heads)
      onCheckpoint?.(checkpoint)
      count += 1
      if (count % 100 === 0) await nextTurn()
    }
  if (count !== checkpoints)
    throw new Unsound(`${reader.path} has ${count} checkpoints instead of ${checkpoints}`)
  return heads
}

type ChainOptions = Pick<VerifyArchiveOptions, 'onRows'> & { readonly references: Set<unknown> }

/** Every row, from the first to the one that the statement names, with the last one covered by a checkpoint. */
async function verifyChain(
  reader: ArchiveReader,
  { chain, sequence, hash }: ArchivedChain,
  checks: HeadChecks,
  { onRows, references }: ChainOptions,
): Promise<void> {
  const hashRow = createRowHasher()
  let [at, last] = [0, ZERO_HASH]
  for (const place of reader.blocks.filter((each) => each.chain === chain)) {
    const block = await reader.readBlock(place)
    const { header, rows } = block
    if (
      header.chain !== chain ||
      header.first !== at + 1 ||
      header.last !== at + rows.length ||
      header.previous_hash !== last
    )
      throw new Unsound(`${reader.path} does not continue here`, chain, at + 1)
    last = await verifyBlock(block, { hashRow, checks, references, path: reader.path })
    if (header.hash !== last)
      throw new Unsound(`a row up to row ${header.last} was changed`, chain, header.first)
    at = header.last
    onRows?.(rows.length)
  }
  if (at !== sequence || last !== hash)
    throw new Unsound(`${reader.path} has another end of the chain than its statement`, chain, at)
  const unmet = checks.findUnmet()
  if (unmet || checks.signed() !== sequence)
    throw new Unsound(`the checkpoints in ${reader.path} do not end with the last row`, chain, sequence)
}

type BlockDeps = {
  readonly hashRow: RowHasher
  readonly checks: HeadChecks
  readonly references: Set<unknown>
  readonly path: string
}

const RELEASED_AT = ARCHIVE_COLUMNS.indexOf('fields_released')
const FORMAT_AT = ARCHIVE_COLUMNS.indexOf('format')
const FIELDS_AFTER_SEQUENCE = HASHED_FIELDS.length - 2
const ROWS_AT_ONCE = 500

/** Returns the hash of the last row. */
async function verifyBlock({ header, rows }: ArchiveBlock, deps: BlockDeps): Promise<string> {
  let last = header.previous_hash
  for (const [index, row] of rows.entries()) {
    const sequence = header.first + index
    const fields = [header.chain, sequence, ...row.slice(0, FIELDS_AFTER_SEQUENCE)]
    const hash = deps.hashRow(fields, last, row[FORMAT_AT])
    if (hash === undefined)
      throw new Unsound('the row holds a value that its format does not allow', header.chain, sequence)
    deps.references.add(row[RELEASED_AT])
    const wrong = deps.checks.add(hash)
    if (wrong)
      throw new Unsound(
        `rows ${wrong.from + 1} to ${wrong.sequence} are not those that a checkpoint in ${deps.path} covers`,
        header.chain,
        sequence,
      )
    last = hash
    // Requests must not wait for a whole block.
    if (index % ROWS_AT_ONCE === 0) await nextTurn()
  }
  return last
}

async function verifyPolicies(reader: ArchiveReader, references: ReadonlySet<unknown>): Promise<void> {
  const policies = await reader.readPolicies()
  for (const id of references) {
    const fields = policies.get(id as string)
    if (id !== null && (fields === undefined || toReference(fields) !== id))
      throw new Unsound(`the field policy ${String(id)} in ${reader.path} is missing or was changed`)
  }
}

/** Compares the rows of a chain, as they are read in order, with what checkpoints say about it. */
type HeadChecks = {
  /** Takes the next row hash. Returns the first head that it contradicts. */
  readonly add: (hash: string) => SignedHead | undefined
  /** A head that covers rows which did not come. */
  readonly findUnmet: () => SignedHead | undefined
  /** The last row that a head covers. */
  readonly signed: () => number
}

type OpenHead = { readonly head: SignedHead; readonly tree: ReturnType<typeof createTree> }

/** Each different head once, by the row that it begins after. */
function createHeadChecks(heads: readonly SignedHead[]): HeadChecks {
  const waiting = heads.toSorted((one, other) => other.from - one.from)
  let open: OpenHead[] = []
  let sequence = 0
  let signed = 0
  return {
    add: (hash) => {
      for (let next = waiting.at(-1); next?.from === sequence; next = waiting.at(-1)) {
        waiting.pop()
        open.push({ head: next, tree: createTree() })
      }
      sequence += 1
      for (const { tree } of open) tree.add(hash)
      const ended = open.filter(({ head }) => head.sequence === sequence)
      if (ended.length === 0) return undefined
      open = open.filter(({ head }) => head.sequence > sequence)
      signed = sequence
      return ended.find(({ head, tree }) => head.hash !== hash || head.root !== tree.root())?.head
    },
    findUnmet: () => open[0]?.head ?? waiting.at(-1),
    signed: () => signed,
  }
}

/** The different heads of each chain. Checkpoints repeat the head of a chain that has no new rows. */
function collectHeads(known: Map<string, SignedHead[]>, heads: readonly SignedHead[]): void {
  for (const head of heads) {
    const list = known.get(head.chain) ?? []
    if (list.slice(-LOOK_BACK).some((each) => isSameHead(each, head))) continue
    list.push(head)
    known.set(head.chain, list)
  }
}

/** Two nodes may sign at the same time, so that their checkpoints alternate. */
const LOOK_BACK = 8
