import type { KeyObject } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type SubjectBlock, type SubjectOfRow, toKeys, toPages } from '../audit/subject-blocks.ts'
import { toAssociatedData, unseal } from '../crypto/seal.ts'
import { DamagedIndex } from '../database/failure.ts'
import type { BlockScrub, IndexInfo, ScrubTable } from './scrub-table.ts'

export type ScrubOptions = {
  /** The record keys by version of the root key. */
  readonly keys: ReadonlyMap<number, KeyObject>
  /** Share of one processor that it may use, from 0 to 1. */
  readonly duty: number
  /** Also run the integrity check of the database. */
  readonly checkPages: boolean
}

const MIN_PAUSE_MS = 5
const SEALED = ['registry', 'media'] as const

/**
 * Reads every table once: each row must be found by its indexes, each sealed record must open, and the subjects and consents of
 * audit rows must be in their blocks. Throws at the first damage. Returns the number of pieces.
 */
export async function runScrubPass(table: ScrubTable, options: ScrubOptions): Promise<number> {
  if (options.checkPages && !(await table.isSound())) throw new DamagedIndex()
  const byTable = Map.groupBy(await table.listIndexes(), (index) => index.table)
  let pieces = 0
  for (const [name, indexes] of byTable) {
    let from = 0
    for (
      let to = await table.nextPlace(name, from);
      to !== undefined;
      to = await table.nextPlace(name, from)
    ) {
      const startedAt = performance.now()
      await checkPiece(table, indexes, from, to)
      await openPiece(table, name, from, to, options.keys)
      from = to
      pieces += 1
      await pauseAfter(performance.now() - startedAt, options.duty)
    }
  }
  for (const blocks of table.blocks)
    pieces += await scrubBlocks(blocks, (tookMs) => pauseAfter(tookMs, options.duty))
  return pieces
}

async function checkPiece(table: ScrubTable, indexes: readonly IndexInfo[], from: number, to: number) {
  for (const index of indexes) if ((await table.countMissing(index, from, to)) > 0) throw new DamagedIndex()
}

/** An unknown key version may belong to a rotation that began meanwhile, so it is skipped. */
async function openPiece(
  table: ScrubTable,
  name: string,
  from: number,
  to: number,
  keys: ReadonlyMap<number, KeyObject>,
): Promise<void> {
  const sealed = SEALED.find((known) => known === name)
  if (!sealed) return
  for (const { id, keyVersion, sealed: value } of await table.readSealed(sealed, from, to)) {
    const key = keys.get(keyVersion)
    if (key) unseal(key, value, toAssociatedData(sealed, id, keyVersion))
  }
}

async function pauseAfter(tookMs: number, duty: number): Promise<void> {
  if (duty < 1) await pause(Math.max(MIN_PAUSE_MS, tookMs * (1 / duty - 1)))
}

const ROWS_AT_ONCE = 500

type Block = Omit<SubjectBlock, 'pages'>

/**
 * Compares every block of an index with the audit rows it was made from. The blocks of a chain follow each other: a search trusts that
 * no row before the last one is without a block. Throws at the first that differs.
 */
export async function scrubBlocks(
  table: BlockScrub,
  pauseAfter: (tookMs: number) => Promise<void>,
): Promise<number> {
  let pieces = 0
  let done = { chain: '', last: 0 }
  for (
    let block = await table.nextBlock('', 0);
    block;
    block = await table.nextBlock(block.chain, block.first)
  ) {
    const { chain, first, last } = block
    const follows = first === (chain === done.chain ? done.last : 0) + 1
    const rows: SubjectOfRow[] = []
    for (let after = first - 1; after < last; after += ROWS_AT_ONCE) {
      const startedAt = performance.now()
      rows.push(...(await table.subjects(chain, after, Math.min(after + ROWS_AT_ONCE, last))))
      await pauseAfter(performance.now() - startedAt)
    }
    const isSame = toText(toPages(toKeys(rows, first))) === toText(await table.readPages(chain, first))
    // Else it would hide the rows that come.
    const isWritten = await table.hasRows(chain, last - 1, last)
    if (!(follows && isSame && isWritten) && !(await isBeingRemoved(table, block))) throw new DamagedIndex()
    done = { chain, last }
    pieces += 1
  }
  return pieces
}

/** The rows of an archived chain are removed, and its blocks after them. */
const isBeingRemoved = async (table: BlockScrub, { chain, first, last }: Block): Promise<boolean> =>
  (await table.isArchived(chain)) && !(await table.hasRows(chain, first - 1, last))

const toText = (pages: SubjectBlock['pages']) =>
  pages
    .toSorted(([one], [other]) => one - other)
    .map(([bucket, entries]) => `${bucket} ${Buffer.from(entries).toString('base64')}`)
    .join('\n')
