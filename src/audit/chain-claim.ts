import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { steadyNow } from '../contract/time.ts'
import { makeFolderSync } from '../crypto/make-folder.ts'
import { monthOf } from '../ledger/audit-months.ts'
import type { Chain } from './audit-chains.ts'
import type { AuditTable } from './audit-table.ts'

/** An owner without a heartbeat for this long is considered dead. */
export const DEAD_AFTER_MS = 180_000

/** Identifies this process: host, process id, random suffix. */
export const createOwner = () => `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`

/** The clock may be behind the last row of a chain by this much. */
const AHEAD_MS = 60_000

/**
 * Claims a chain of this month for this process: a free chain of this node, else a free chain of another node, else a new one.
 * So there are never many more chains in a month than processes at one time, even if every start has a new node name (a
 * container without a volume).
 * A chain whose last row is in the future is skipped, so that rows of a chain stay in the order of time after the clock was
 * set back.
 */
export async function claimChain(table: AuditTable, node: string, owner: string): Promise<string> {
  const open = await table.openMonth(steadyNow())
  for (;;) {
    const all = await table.chains()
    // By a clock that is far behind, a month that is archived.
    const isClosed = all.some(({ chain, isArchived }) => isArchived && monthOf(chain) === open)
    const month = isClosed ? undefined : open
    const chains = all.filter(({ chain }) => monthOf(chain) === month)
    const mine = chains.filter(({ chain }) => isChainOf(node, chain))
    const free = [
      ...mine.filter(isFree),
      ...chains.filter((each) => !isChainOf(node, each.chain) && isAbandoned(each)),
    ]
    const found = await findFirst(
      free.filter(({ isRetired }) => !isRetired),
      async (chain) => !(await isAhead(table, chain)),
    )
    const chain = found?.chain ?? `${month ? `${month}-` : ''}${node}-${toLastNumber(mine) + 1}`
    if (!(await table.claim(chain, found?.owner ?? null, owner, Date.now()))) continue
    await releaseEarlier(
      table,
      all.filter((each) => !chains.includes(each) && isChainOf(node, each.chain)),
    )
    return chain
  }
}

/** Chains may be missing between others: only those that had rows are known after the loss of an older log was noted. */
const toLastNumber = (chains: readonly Chain[]) =>
  Math.max(0, ...chains.map(({ chain }) => Number(chain.slice(chain.lastIndexOf('-') + 1))))

/** No process claims the chains of earlier months: those that a crash left behind would look like a crash at every start. */
async function releaseEarlier(table: AuditTable, earlier: readonly Chain[]): Promise<void> {
  for (const each of earlier)
    if (each.owner !== null && isFree(each)) await table.release(each.chain, each.owner, each.beatAt)
}

async function findFirst<T>(list: readonly T[], fits: (item: T) => Promise<boolean>): Promise<T | undefined> {
  for (const item of list) if (await fits(item)) return item
  return undefined
}

async function isAhead(table: AuditTable, { chain }: Chain): Promise<boolean> {
  const head = await table.head(chain)
  const last = head && (await table.timeFrom(chain, head.sequence))
  return last !== undefined && Date.parse(last.time) > steadyNow() + AHEAD_MS
}

/** Whether a process of this node ended without releasing its chain. Call it before claiming a chain. */
export async function hasCrashed(table: AuditTable, node: string): Promise<boolean> {
  const chains = await table.chains()
  return chains.some((chain) => chain.owner !== null && isChainOf(node, chain.chain) && isFree(chain))
}

/** How many processes of other nodes write the log now. Call it before claiming a chain. */
export async function countOtherProcesses(table: Pick<AuditTable, 'chains'>, node: string): Promise<number> {
  const chains = await table.chains()
  return chains.filter((chain) => !chain.isArchived && !isChainOf(node, chain.chain) && !isAbandoned(chain))
    .length
}

export const isChainOf = (node: string, chain: string) => {
  const month = monthOf(chain)
  return chain.startsWith(`${node}-`, month ? month.length + 1 : 0)
}

const isAbandoned = ({ owner, beatAt }: Chain) => owner === null || beatAt < Date.now() - DEAD_AFTER_MS

/** Whether a process may be extending the chain. One on this machine that has ended does not. */
export const isInUse = (chain: Chain) => !isFree(chain)

/** Of a chain of this node: another machine may have the same host name. */
function isFree(chain: Chain): boolean {
  if (isAbandoned(chain)) return true
  const [host, pid] = chain.owner?.split(':') ?? []
  return host === hostname() && !isAlive(Number(pid))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Undefined before the first start. */
export function readNodeName(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, 'node.id'), 'utf8').trim()
  } catch {
    return undefined
  }
}

/** The random name of this node, created once and stored in its data folder. */
export function loadNodeName(dataDir: string): string {
  const path = join(dataDir, 'node.id')
  const draft = `${path}.${process.pid}`
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // With PostgreSQL and a root key from the settings, the folder may not exist yet.
    makeFolderSync(dataDir)
    writeFileSync(draft, `${randomBytes(4).toString('hex')}\n`, { mode: 0o600, flush: true })
  }
  try {
    linkSync(draft, path)
  } catch {
    // Another process was faster: its name is used.
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8').trim()
}
