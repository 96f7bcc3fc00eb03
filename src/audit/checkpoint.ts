import { existsSync, readFileSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../errors.ts'
import type { AuditTable, Checkpoint } from '../store/audit-table.ts'
import { computeMerkleRoot } from './merkle.ts'
import type { Signer } from './signing.ts'

/** Where a chain stood: its last row, and the root over the rows since the checkpoint before (after `from`). */
export type ChainHead = {
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

export const CHECKPOINT_FILE = 'checkpoints.log'

/** A signed statement of where every chain stands, kept in the store and in a file outside of it. */
export async function makeCheckpoint(table: AuditTable, signer: Signer, folder: string): Promise<Checkpoint> {
  const before = await table.lastCheckpoint()
  const known = new Map(before ? parseCheckpoint(before).heads.map((head) => [head.chain, head]) : [])
  const heads: ChainHead[] = []
  for (const { chain } of await table.chains()) {
    const head = await table.head(chain)
    if (!head) continue
    const last = known.get(chain)
    const hash = Buffer.from(head.hash).toString('hex')
    // A chain that stands still keeps its part of the last statement.
    if (last && last.sequence === head.sequence) {
      heads.push(last)
      continue
    }
    const from = last?.sequence ?? 0
    const root = (await computeMerkleRoot(pagesOf(table, chain, from, head.sequence))).toString('hex')
    heads.push({ chain, sequence: head.sequence, hash, from, root })
  }
  const body: CheckpointBody = { version: 1, time: new Date().toISOString(), heads }
  const text = JSON.stringify(body)
  const checkpoint = { time: body.time, body: text, signature: signer.sign(text) }
  await table.insertCheckpoint(checkpoint)
  await appendToFile(folder, checkpoint)
  return checkpoint
}

/** Few enough that no request waits for them. */
const PAGE_ROWS = 128

async function* pagesOf(table: AuditTable, chain: string, from: number, upTo: number) {
  for (let after = from; after < upTo; after += PAGE_ROWS)
    yield await table.hashes(chain, after, Math.min(after + PAGE_ROWS, upTo))
}

export const parseCheckpoint = ({ body }: Pick<Checkpoint, 'body'>): CheckpointBody =>
  JSON.parse(body) as CheckpointBody

/** The last statement in this node's own file. A line that a crash cut short is passed over. */
export function readLastCheckpoint(folder: string): Checkpoint | undefined {
  const path = join(folder, CHECKPOINT_FILE)
  if (!existsSync(path)) return undefined
  for (const line of readFileSync(path, 'utf8').trimEnd().split('\n').toReversed()) {
    try {
      return JSON.parse(line) as Checkpoint
    } catch {
      // Look at the line before.
    }
  }
  return undefined
}

/** A node does not go on from a store that is older than, or differs from, what it last signed. */
export async function refuseOlderStore(table: AuditTable, folder: string): Promise<void> {
  const last = readLastCheckpoint(folder)
  if (!last) return
  for (const { chain, sequence, hash } of parseCheckpoint(last).heads) {
    const row = await table.find(chain, sequence)
    if (row && Buffer.from(row.hash).toString('hex') === hash) continue
    throw new UserError(
      `The audit log in the database is ${row ? 'not the one' : 'shorter than'} the last checkpoint in ${join(folder, CHECKPOINT_FILE)} says (chain ${chain}, row ${sequence}). Rows are missing or an older copy was put back. If that was meant, move the file away.`,
    )
  }
}

/** Durable when it resolves. A line that a crash cut short is ended first, so that it spoils nothing but itself. */
async function appendToFile(folder: string, checkpoint: Checkpoint): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = await open(join(folder, CHECKPOINT_FILE), 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const last = Buffer.alloc(1, '\n')
    if (size > 0) await file.read(last, 0, 1, size - 1)
    await file.appendFile(`${last.toString() === '\n' ? '' : '\n'}${JSON.stringify(checkpoint)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}
