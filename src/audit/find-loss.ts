import { type AcknowledgedRow, listAcknowledged, readAcknowledged } from './acknowledged-file.ts'
import type { AuditTable } from './audit-table.ts'
import type { Loss } from './loss-table.ts'

type Rows = Pick<AuditTable, 'find' | 'head'>
type Log = Rows & Pick<AuditTable, 'chains'>

/** The rows of a chain that were acknowledged by this node and are no longer in the database, if there are any. */
export async function findLoss(table: Rows, dataDir: string, chain: string): Promise<Loss | undefined> {
  const rows = await readAcknowledged(dataDir, chain)
  const last = rows.at(-1)
  if (!last || (await holds(table, chain, last))) return undefined
  const first = await findFirstMissing(table, chain, rows)
  // Other nodes may have extended the chain between rows of this one, or after the loss.
  const head = (await table.head(chain))?.sequence ?? 0
  const kept = Math.min(head, (rows[first] ?? last).sequence - 1)
  const references = rows.slice(first).flatMap(({ reference }) => reference ?? [])
  return { chain, kept, acknowledged: last.sequence, references: [...new Set(references)] }
}

/** Of all chains that this node has extended. The rows of archived chains are not lost. */
export async function findLosses(table: Log, dataDir: string): Promise<Loss[]> {
  const losses: Loss[] = []
  const extended = await listAcknowledged(dataDir)
  const chains = extended.length > 0 ? await table.chains() : []
  const archived = new Set(chains.filter(({ isArchived }) => isArchived).map(({ chain }) => chain))
  for (const chain of extended.filter((each) => !archived.has(each))) {
    const loss = await findLoss(table, dataDir, chain)
    if (loss) losses.push(loss)
  }
  return losses
}

/** Rows are linked, so that no row after a missing one is there: a binary search. */
async function findFirstMissing(
  table: Rows,
  chain: string,
  rows: readonly AcknowledgedRow[],
): Promise<number> {
  let [low, high] = [0, rows.length - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = rows[middle]
    if (row && (await holds(table, chain, row))) low = middle + 1
    else high = middle
  }
  return low
}

async function holds(table: Rows, chain: string, { sequence, hash }: AcknowledgedRow): Promise<boolean> {
  const row = await table.find(chain, sequence)
  return row !== undefined && Buffer.from(row.hash).toString('hex') === hash
}
