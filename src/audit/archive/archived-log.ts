import { monthOf, startOf } from '../../ledger/audit-months.ts'
import type { LoggedRow } from '../../ledger/audit-row.ts'
import type { Head } from '../audit-chains.ts'
import type { Period } from '../audit-queries.ts'
import type { AuditTable, Checkpoint } from '../audit-table.ts'
import type { ArchiveStatement, BlockPlace } from './archive-format.ts'
import type { IndexedColumn, OpenArchive } from './open-archives.ts'

/** Reads a chain whose rows are in an archive, like the table of the database. */
type ChainReads = Pick<AuditTable, 'head' | 'pageBack' | 'page' | 'timeFrom' | 'lastUntil' | 'hashes'>

/** The rows of open archives. */
export type ArchivedLog = ChainReads & {
  readonly has: (chain: string) => boolean
  /** No row of the chain is later: the checkpoints of seven more days name it. */
  readonly latest: (chain: string) => string
  /** The rows with one of these texts, in no order. */
  readonly find: (
    column: IndexedColumn,
    texts: readonly string[],
    limits?: FindLimits,
  ) => Promise<LoggedRow[]>
  /** Checkpoints of the archive of a chain: first those after a time, then all. */
  readonly checkpoints: (chain: string, after: string) => AsyncIterable<readonly Checkpoint[]>
  /** Whether a search ended before all archives were read. */
  readonly isCut: () => boolean
  readonly close: () => Promise<void>
}

type FindLimits = {
  /** At least that many rows, if there are. */
  readonly most?: number | undefined
  /** Archives that have no rows of this time are left out. */
  readonly near?: Period | undefined
}

type ArchivedChain = { readonly archive: OpenArchive; readonly blocks: readonly BlockPlace[] }

/** `isOver` ends a search by index: a request to the server has a time limit. */
export function createArchivedLog(
  archives: readonly OpenArchive[],
  isOver: () => boolean = () => false,
): ArchivedLog {
  const chains = new Map<string, ArchivedChain>()
  for (const archive of archives)
    for (const [chain, blocks] of Map.groupBy(archive.reader.blocks, (block) => block.chain))
      chains.set(chain, { archive, blocks })
  let isCut = false
  return {
    ...createChainReads(chains),
    has: (chain) => chains.has(chain),
    latest: (chain) => chains.get(chain)?.archive.statement.checkpoints_until ?? '',
    find: async (column, texts, { most = Number.POSITIVE_INFINITY, near } = {}) => {
      const rows: LoggedRow[] = []
      for (const archive of archives.toReversed().filter(({ statement }) => mayHave(statement, near)))
        for (const block of archive.reader.blocks.toReversed()) {
          if (rows.length >= most) return rows
          if (isOver()) {
            isCut = true
            return rows
          }
          rows.push(...(await archive.find(block, column, texts)))
        }
      return rows
    },
    checkpoints: async function* (chain, after) {
      const archive = chains.get(chain)?.archive
      if (archive) yield* readCheckpoints(archive, after)
    },
    isCut: () => isCut,
    close: async () => {
      for (const { file } of archives) await file.close()
    },
  }
}

function mayHave({ chains, checkpoints_until: latest }: ArchiveStatement, near: Period | undefined): boolean {
  if (near === undefined) return true
  const isLater = chains.every(({ chain }) => {
    const month = monthOf(chain)
    return month !== undefined && startOf(month) > Date.parse(near.to)
  })
  return latest >= near.from && !isLater
}

function createChainReads(chains: ReadonlyMap<string, ArchivedChain>): ChainReads {
  const blocksOf = (chain: string, from: number, to: number) =>
    (chains.get(chain)?.blocks ?? []).filter((block) => block.last >= from && block.first <= to)
  const open = (block: BlockPlace) => chains.get(block.chain)?.archive.open(block)
  const read = async (chain: string, from: number, to: number): Promise<LoggedRow[]> => {
    const rows: LoggedRow[] = []
    for (const block of blocksOf(chain, from, to))
      rows.push(...((await (await open(block))?.rows(from, to)) ?? []))
    return rows
  }
  const lastOf = (chain: string) => chains.get(chain)?.blocks.at(-1)?.last ?? 0
  return {
    head: async (chain): Promise<Head | undefined> => {
      const last = lastOf(chain)
      const [row] = await read(chain, last, last)
      return row && { sequence: row.sequence, hash: row.hash }
    },
    page: (chain, after, most) => read(chain, after + 1, after + most),
    pageBack: async (chain, before, most) => {
      const end = Math.min(before - 1, lastOf(chain))
      return (await read(chain, end - most + 1, end)).reverse()
    },
    timeFrom: async (chain, from) => {
      const sequence = Math.max(from, 1)
      const [block] = blocksOf(chain, sequence, sequence)
      const time = block && (await open(block))?.timeOf(sequence)
      return time === undefined ? undefined : { sequence, time }
    },
    lastUntil: async (chain, { from, before }, time) => {
      for (const block of blocksOf(chain, from, before - 1).reverse()) {
        const opened = await open(block)
        const first = Math.max(from, block.first)
        for (let at = Math.min(before - 1, block.last); opened && at >= first; at--)
          if (opened.timeOf(at) <= time) return at
      }
      return undefined
    },
    hashes: async (chain, after, upTo) => {
      const hashes: Uint8Array[] = []
      for (const block of blocksOf(chain, after + 1, upTo)) {
        const all = (await (await open(block))?.hashes()) ?? []
        const some = all.slice(Math.max(after + 1 - block.first, 0), upTo - block.first + 1)
        hashes.push(...some.map((hash) => Buffer.from(hash, 'hex')))
      }
      return hashes
    },
  }
}

/** By bisection: there may be half a million for a year. */
async function* readCheckpoints({ reader }: OpenArchive, after: string) {
  const { checkpointFrames: count, readCheckpointFrame: read } = reader
  let [low, high] = [0, count]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const last = (await read(middle)).at(-1)
    if (last && last.time < after) low = middle + 1
    else high = middle
  }
  for (let index = low; index < count; index++) yield await read(index)
  for (let index = 0; index < low; index++) yield await read(index)
}
