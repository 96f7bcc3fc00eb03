import { join } from 'node:path'
import { DAY_MS, steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import type { ChainEnd, Head } from './audit-chains.ts'
import { type AuditTable, type Checkpoint, toHashes } from './audit-table.ts'
import { findCheckpointFile, readCheckpoints } from './checkpoint-file.ts'
import { appendCheckpoint, CHECKPOINT_FILE, readLastCheckpoint } from './checkpoint-folder.ts'
import type { Loss } from './loss-table.ts'
import { computeMerkleRoot } from './merkle.ts'
import type { RecentRows } from './recent-rows.ts'
import type { Signer } from './signing.ts'

/** The last row of a chain, and the Merkle root over the rows since the previous checkpoint (after `from`). */
type ChainHead = {
  readonly chain: string
  readonly sequence: number
  readonly hash: string
  readonly from: number
  readonly root: string
}

export type CheckpointBody = {
  readonly version: 1
  readonly time: string
  readonly heads: readonly ChainHead[]
}

/** A chain that nothing has extended for this long is retired. */
const RETIRE_AFTER_MS = 7 * 24 * 60 * 60 * 1000

/**
 * Signs the last row of every chain, and writes the checkpoint to the database and to a file. A chain that is no longer in use,
 * and whose last row is in the checkpoint before, is left out from now on.
 */
export async function makeCheckpoint(
  table: AuditTable,
  signer: Signer,
  folder: string,
  recent?: RecentRows,
): Promise<Checkpoint> {
  const before = await table.lastCheckpoint()
  const known = new Map(before ? parseCheckpoint(before).heads.map((head) => [head.chain, head]) : [])
  const unusedSince = Date.now() - RETIRE_AFTER_MS
  const heads: ChainHead[] = []
  const retired: string[] = []
  for (const end of await table.ends()) {
    const last = known.get(end.chain)
    const isCovered = last?.sequence === end.sequence
    if (isCovered && end.beatAt < unusedSince) retired.push(end.chain)
    // A chain without new rows keeps its entry of the last checkpoint.
    else heads.push(isCovered ? last : await toHead(table, end, last?.sequence ?? 0, recent))
  }
  const body: CheckpointBody = { version: 1, time: toNextTime(before), heads }
  const text = JSON.stringify(body)
  const checkpoint = { time: body.time, body: text, signature: signer.sign(text) }
  await table.insertCheckpoint(checkpoint)
  await appendCheckpoint(folder, checkpoint)
  await table.retire(retired, unusedSince, Date.now())
  return checkpoint
}

/**
 * Later than the last checkpoint, also after the clock was set back: the last one by time must be the last one that was made.
 * One of a clock that was ahead by more than a day is not followed.
 */
function toNextTime(before: Checkpoint | undefined): string {
  const now = steadyNow()
  const next = before ? Date.parse(before.time) + 1 : 0
  return new Date(next > now && next - now < DAY_MS ? next : now).toISOString()
}

async function toHead(
  table: AuditTable,
  end: ChainEnd,
  from: number,
  recent: RecentRows | undefined,
): Promise<ChainHead> {
  const { chain, sequence } = end
  const known = recent && holdsEnd(recent, end) ? recent : undefined
  const root = (await computeMerkleRoot(pagesOf(table, end, from, known))).toString('hex')
  return { chain, sequence, hash: Buffer.from(end.hash).toString('hex'), from, root }
}

/** The last hash contains all before it. Another one: the database has lost rows, and other ones were written in their place. */
function holdsEnd(recent: RecentRows, { chain, sequence, hash }: ChainEnd): boolean {
  const last = recent.copyHashes(chain, sequence - 1, sequence)
  return last !== undefined && Buffer.from(hash).equals(last)
}

/** Few enough not to delay requests. */
const PAGE_ROWS = 128

/** Rows that this process has just written are not read. */
async function* pagesOf(
  table: AuditTable,
  { chain, sequence }: ChainEnd,
  from: number,
  recent: RecentRows | undefined,
) {
  for (let after = from; after < sequence; after += PAGE_ROWS) {
    const upTo = Math.min(after + PAGE_ROWS, sequence)
    const known = recent?.copyHashes(chain, after, upTo)
    yield known ? toHashes(known) : await table.hashes(chain, after, upTo)
  }
}

const parseCheckpoint = ({ body }: Pick<Checkpoint, 'body'>): CheckpointBody =>
  JSON.parse(body) as CheckpointBody

/**
 * Compares the log with the last checkpoint in the file. Returns the chains that are shorter than it says. Throws if the log is
 * another one; with `acceptsOther`, chains that are missing, or have other rows instead, are returned, too.
 */
export async function findShortened(
  table: AuditTable,
  folder: string,
  { acceptsOther = false } = {},
): Promise<Loss[]> {
  const last = await readLastCheckpoint(folder)
  if (!last) return []
  const shortened: Loss[] = []
  const chains = new Map((await table.chains()).map((each) => [each.chain, each]))
  for (const head of parseCheckpoint(last).heads) {
    const { chain, sequence } = head
    const known = chains.get(chain)
    if (known?.isArchived) continue
    const row = await table.find(chain, sequence)
    if (row && isHashOf(row, head)) continue
    if ((row || !known) && !acceptsOther) throw otherLogError(folder, head)
    const end = (await table.head(chain))?.sequence ?? 0
    const kept = acceptsOther ? await findKept(table, folder, { chain, end }) : end
    shortened.push({ chain, kept, acknowledged: sequence, references: [] })
  }
  return shortened
}

const otherLogError = (folder: string, { chain, sequence }: ChainHead) =>
  new UserError(
    `The audit log in the database is not the one of the last checkpoint in ${join(folder, CHECKPOINT_FILE)} (chain ${chain}, row ${sequence}). If a backup was restored or an older copy was put in place on purpose, run: tabbat audit accept-loss (with SQLite, move the file away)`,
  )

const isHashOf = (row: Pick<Head, 'hash'>, { hash }: Pick<ChainHead, 'hash'>) =>
  Buffer.from(row.hash).toString('hex') === hash

/**
 * The end of a chain, if it is only shorter. If it goes on with other rows, the last signed row that is still there: rows are linked, so
 * that those before it are there, too.
 */
async function findKept(
  table: AuditTable,
  folder: string,
  { chain, end }: { readonly chain: string; readonly end: number },
): Promise<number> {
  const signed = (await readHeads(folder, chain)).filter(({ sequence }) => sequence <= end)
  for (const [index, head] of signed.entries()) {
    const row = await table.find(chain, head.sequence)
    if (row && isHashOf(row, head)) return index === 0 ? end : head.sequence
  }
  return signed.length === 0 ? end : 0
}

/** All signed heads of a chain, the last one first. */
async function readHeads(folder: string, chain: string): Promise<ChainHead[]> {
  const heads = new Map<number, ChainHead>()
  for await (const checkpoint of readCheckpoints(findCheckpointFile(folder)))
    for (const head of checkpoint ? parseCheckpoint(checkpoint).heads : [])
      if (head.chain === chain) heads.set(head.sequence, head)
  return [...heads.values()].toSorted((one, other) => other.sequence - one.sequence)
}
