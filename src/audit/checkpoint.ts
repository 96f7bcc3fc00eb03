import { existsSync, readFileSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../errors.ts'
import type { AuditTable, Checkpoint } from '../store/audit-table.ts'
import { computeMerkleRoot } from './merkle.ts'
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

export const CHECKPOINT_FILE = 'checkpoints.log'

/** Signs the last row of every chain, and writes the checkpoint to the database and to a file. */
export async function makeCheckpoint(table: AuditTable, signer: Signer, folder: string): Promise<Checkpoint> {
  const before = await table.lastCheckpoint()
  const known = new Map(before ? parseCheckpoint(before).heads.map((head) => [head.chain, head]) : [])
  const heads: ChainHead[] = []
  for (const { chain } of await table.chains()) {
    const head = await table.head(chain)
    if (!head) continue
    const last = known.get(chain)
    const hash = Buffer.from(head.hash).toString('hex')
    // A chain without new rows keeps its entry of the last checkpoint.
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

/** Few enough not to delay requests. */
const PAGE_ROWS = 128

async function* pagesOf(table: AuditTable, chain: string, from: number, upTo: number) {
  for (let after = from; after < upTo; after += PAGE_ROWS)
    yield await table.hashes(chain, after, Math.min(after + PAGE_ROWS, upTo))
}

const parseCheckpoint = ({ body }: Pick<Checkpoint, 'body'>): CheckpointBody =>
  JSON.parse(body) as CheckpointBody

/** The last checkpoint in the file of this node. An incomplete line after a crash is skipped. */
function readLastCheckpoint(folder: string): Checkpoint | undefined {
  const path = join(folder, CHECKPOINT_FILE)
  if (!existsSync(path)) return undefined
  for (const line of readFileSync(path, 'utf8').trimEnd().split('\n').toReversed()) {
    try {
      return JSON.parse(line) as Checkpoint
    } catch {
      // Try the line before.
    }
  }
  return undefined
}

/** Refuses to extend a log that is shorter than, or differs from, the last checkpoint in the file. */
export async function refuseOlderStore(table: AuditTable, folder: string): Promise<void> {
  const last = readLastCheckpoint(folder)
  if (!last) return
  for (const { chain, sequence, hash } of parseCheckpoint(last).heads) {
    const row = await table.find(chain, sequence)
    if (row && Buffer.from(row.hash).toString('hex') === hash) continue
    throw new UserError(
      `The audit log in the database is ${row ? 'not the one' : 'shorter than'} the last checkpoint in ${join(folder, CHECKPOINT_FILE)} says (chain ${chain}, row ${sequence}). Rows are missing or an older copy was restored. If that was intended, move the file away.`,
    )
  }
}

/** Durable when it resolves. If a crash left an incomplete line, it is ended first. */
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
