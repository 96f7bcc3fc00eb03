import type { Database, Row } from '../database/database.ts'
import type { Reader } from '../database/define-table.ts'
import { monthOf } from '../ledger/audit-months.ts'

/** A position in a chain. */
export type Head = { readonly sequence: number; readonly hash: Uint8Array }

export type Chain = {
  readonly chain: string
  readonly owner: string | null
  readonly beatAt: number
  /** Never extended again, and no longer in checkpoints: an earlier one has its last row. */
  readonly isRetired: boolean
  /** No row is later, if the chain is retired and has lost none. */
  readonly retiredAt: number | undefined
  /** Its rows are in an archive, and are being removed or were removed. */
  readonly isArchived: boolean
}

/** A chain with its last row. */
export type ChainEnd = Head & Pick<Chain, 'chain' | 'beatAt'>

/** The chains of the audit log. One process owns a chain at a time and extends it. */
export function createChainReads(database: Reader) {
  const chains = database.prepare(
    `SELECT chain, owner, beat_at, retired_at, archive, ${IS_RETIRED} AS retired FROM audit_chains ORDER BY chain`,
  )
  const ends = database.prepare(ENDS)
  return {
    chains: async () => (await chains.all()).map(toChain),
    /** Every chain that has rows and is not retired. */
    ends: async () => (await ends.all()).map(toEnd),
  }
}

export function createChainWrites(database: Database) {
  const retire = database.prepare(
    'UPDATE audit_chains SET retired_at = $3 WHERE chain = $1 AND beat_at < $2 AND retired_at IS NULL',
  )
  const heartbeat = database.prepare(database.dialect === 'postgres' ? HEARTBEAT_WITH_LOCKS : HEARTBEAT)
  const release = database.prepare(
    'UPDATE audit_chains SET owner = NULL, beat_at = $3 WHERE chain = $1 AND owner = $2',
  )
  return {
    /** Retires chains that nothing has extended since a time. */
    retire: async (list: readonly string[], unusedSince: number, now: number) => {
      for (const chain of list) await retire.run(chain, unusedSince, now)
    },
    /**
     * Takes a chain from the owner that was read (null: a free or a new chain). False when another process was faster, or its
     * month is archived.
     */
    claim: (chain: string, seen: string | null, owner: string, now: number) =>
      database.transaction((tx) => claim(tx, chain, seen, owner, now)),
    /** Renews the claim of the owner. Fails when the log cannot be written. */
    sendHeartbeat: async (chain: string, owner: string, now: number) =>
      void (await heartbeat.run(chain, owner, now)),
    /** Gives the chain up, so that another process can claim it. */
    release: async (chain: string, owner: string, now: number) => void (await release.run(chain, owner, now)),
  }
}

/** A server of an earlier version may extend a retired chain. That ends its retirement. */
export const IS_RETIRED = '(retired_at IS NOT NULL AND beat_at <= retired_at)'

const ENDS = `SELECT chains.chain, chains.beat_at, audit.sequence, audit.hash
  FROM audit_chains AS chains JOIN audit ON audit.chain = chains.chain
    AND audit.sequence = (SELECT MAX(sequence) FROM audit WHERE chain = chains.chain)
  WHERE NOT ${IS_RETIRED} ORDER BY chains.chain`

const HEARTBEAT = 'UPDATE audit_chains SET beat_at = $3 WHERE chain = $1 AND owner = $2'
/** In PostgreSQL a single table can be locked: these inserts of no row wait for the same locks as a verification does. */
const HEARTBEAT_WITH_LOCKS = `WITH log AS (INSERT INTO audit SELECT * FROM audit WHERE false),
  tallies AS (INSERT INTO statistics SELECT * FROM statistics WHERE false) ${HEARTBEAT}`

async function claim(
  tx: Database,
  chain: string,
  seen: string | null,
  owner: string,
  now: number,
): Promise<boolean> {
  await tx.lock('audit:claim')
  const row = await tx
    .prepare(`SELECT owner, ${IS_RETIRED} AS retired FROM audit_chains WHERE chain = $1`)
    .get(chain)
  if (!row) {
    if (await isMonthArchived(tx, chain)) return false
    await tx
      .prepare('INSERT INTO audit_chains (chain, owner, beat_at) VALUES ($1, $2, $3)')
      .run(chain, owner, now)
    return true
  }
  if (row.owner !== seen || row.retired) return false
  await tx.prepare('UPDATE audit_chains SET owner = $2, beat_at = $3 WHERE chain = $1').run(chain, owner, now)
  return true
}

/** In PostgreSQL the month is dropped then. */
async function isMonthArchived(tx: Database, chain: string): Promise<boolean> {
  const month = monthOf(chain)
  if (month === undefined) return false
  const archived = await tx
    .prepare('SELECT 1 AS found FROM audit_chains WHERE archive IS NOT NULL AND chain LIKE $1 LIMIT 1')
    .get(`${month}-%`)
  return archived !== undefined
}

const toChain = (row: Row): Chain => ({
  chain: String(row.chain),
  owner: row.owner === null ? null : String(row.owner),
  beatAt: Number(row.beat_at),
  isRetired: Boolean(row.retired),
  retiredAt: row.retired ? Number(row.retired_at) : undefined,
  isArchived: row.archive !== null,
})

const toEnd = (row: Row): ChainEnd => ({
  chain: String(row.chain),
  beatAt: Number(row.beat_at),
  sequence: Number(row.sequence),
  hash: row.hash as Uint8Array,
})
