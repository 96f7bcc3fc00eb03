import { endOf, monthOf } from '../../ledger/audit-months.ts'
import type { Chain } from '../audit-chains.ts'
import { withAuditSnapshot } from '../audit-snapshot.ts'
import type { AuditStore } from '../audit-store.ts'
import type { ArchivedChain } from './archive-statement.ts'

/** What can be archived, and what must stay for now, with the reason. */
export type ArchiveChoice = {
  readonly chains: readonly ArchivedChain[]
  readonly left: readonly string[]
}

/**
 * Chooses the chains whose rows are all before a time. Chains are archived whole, those of a month together: then PostgreSQL
 * drops the month. A chain that is still in use stays, and so does one that lost rows in a failover or has the statement of such
 * a loss, because a verification needs both.
 */
export async function planArchive(store: AuditStore, before: number): Promise<ArchiveChoice> {
  const chains: ArchivedChain[] = []
  const left: string[] = []
  const lossy = await listLossy(store)
  const all = (await store.audit.chains()).filter(({ isArchived }) => !isArchived)
  for (const [name, group] of Map.groupBy(all, ({ chain }) => monthOf(chain) ?? chain)) {
    const ends = await findEnds(store, group)
    if (ends.length === 0 || !(await isBefore(store, ends, before))) continue
    const reason = findReason(group, ends, lossy)
    if (reason === undefined) chains.push(...ends)
    else
      left.push(
        `${monthOf(`${name}-`) ? `The month ${name}` : `Chain ${name}`} stays in the database: ${reason}.`,
      )
  }
  return { chains, left }
}

/** The chains that have rows, each with its last one. */
async function findEnds({ audit }: AuditStore, group: readonly Chain[]): Promise<ArchivedChain[]> {
  const ends: ArchivedChain[] = []
  for (const { chain } of group) {
    const head = await audit.head(chain)
    if (head) ends.push({ chain, sequence: head.sequence, hash: Buffer.from(head.hash).toString('hex') })
  }
  return ends
}

/** By the month in their name. A chain without one is asked for its last row. */
async function isBefore(
  { audit }: AuditStore,
  [end]: readonly ArchivedChain[],
  before: number,
): Promise<boolean> {
  if (!end) return false
  const month = monthOf(end.chain)
  if (month !== undefined) return endOf(month) <= before
  const last = await audit.timeFrom(end.chain, end.sequence)
  return last !== undefined && Date.parse(last.time) < before
}

function findReason(
  group: readonly Chain[],
  ends: readonly ArchivedChain[],
  lossy: ReadonlySet<string>,
): string | undefined {
  const filled = group.filter(({ chain }) => ends.some((end) => end.chain === chain))
  const open = filled.find(({ isRetired }) => !isRetired)
  if (open)
    return `chain ${open.chain} is not closed; a chain is closed by a checkpoint of the server, seven days after it was last used`
  const lost = filled.find(({ chain }) => lossy.has(chain))
  return lost && `chain ${lost.chain} lost rows in a failover, or states such a loss`
}

async function listLossy(store: AuditStore): Promise<ReadonlySet<string>> {
  const losses = [...(await store.losses.list('open')), ...(await store.losses.list('accepted'))]
  const statements = await withAuditSnapshot(store, (scan) => scan.lossStatements())
  return new Set([...losses.map(({ chain }) => chain), ...statements.map(([chain]) => String(chain))])
}
