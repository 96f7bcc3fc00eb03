import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { steadyNow } from '../contract/time.ts'
import type { AuditTable, Chain } from '../store/audit-table.ts'

/** An owner that has not said anything for so long is taken for dead. */
const DEAD_AFTER_MS = 180_000

/** Who writes: a process on a machine. */
export const createOwner = () => `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`

/** A clock may be this far behind the last row of a chain. */
const AHEAD_MS = 60_000

/**
 * A chain for this process alone: the first of the node's that no living process has, or a new one. A chain whose last row
 * is of a later time than now is left alone: the rows of a chain are in the order of their times, also after the clock was
 * set back.
 */
export async function claimChain(table: AuditTable, node: string, owner: string): Promise<string> {
  for (;;) {
    const chains = (await table.chains()).filter(({ chain }) => chain.startsWith(`${node}-`))
    const free = await findFirst(chains, async (chain) => isFree(chain) && !(await isAhead(table, chain)))
    const chain = free?.chain ?? `${node}-${chains.length + 1}`
    if (await table.claim(chain, free?.owner ?? null, owner, Date.now())) return chain
  }
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

/** Whether a process of this node ended without giving up its chain. To be asked before a chain is claimed. */
export async function hasCrashed(table: AuditTable, node: string): Promise<boolean> {
  const chains = await table.chains()
  return chains.some((chain) => chain.owner !== null && chain.chain.startsWith(`${node}-`) && isFree(chain))
}

function isFree({ owner, beatAt }: Chain): boolean {
  if (owner === null || beatAt < Date.now() - DEAD_AFTER_MS) return true
  const [host, pid] = owner.split(':')
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

/** The name of this node, made once and kept in its data folder. */
export function loadNodeName(dataDir: string): string {
  const path = join(dataDir, 'node.id')
  const draft = `${path}.${process.pid}`
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // With PostgreSQL and a root key from the settings, this is the first file of the folder.
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(draft, `${randomBytes(4).toString('hex')}\n`, { mode: 0o600, flush: true })
  }
  try {
    linkSync(draft, path)
  } catch {
    // Another process was faster: its name counts.
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8').trim()
}
