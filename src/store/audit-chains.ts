import type { Database, Row } from './database.ts'

export type Chain = { readonly chain: string; readonly owner: string | null; readonly beatAt: number }

/** The chains of the audit log. One process owns a chain at a time and extends it. */
export type ChainTable = {
  readonly chains: () => Promise<Chain[]>
  /** Takes a chain from the owner that was read (null: a free or a new chain). False when another process was faster. */
  readonly claim: (chain: string, seen: string | null, owner: string, now: number) => Promise<boolean>
  /** Renews the claim of the owner. Fails when the log cannot be written. */
  readonly sendHeartbeat: (chain: string, owner: string, now: number) => Promise<void>
  /** Gives the chain up, so that another process can claim it. */
  readonly release: (chain: string, owner: string, now: number) => Promise<void>
}

export function createChainTable(database: Database): ChainTable {
  const chains = database.prepare('SELECT chain, owner, beat_at FROM audit_chains ORDER BY chain')
  const heartbeat = database.prepare(database.dialect === 'postgres' ? HEARTBEAT_WITH_LOCKS : HEARTBEAT)
  const release = database.prepare(
    'UPDATE audit_chains SET owner = NULL, beat_at = $3 WHERE chain = $1 AND owner = $2',
  )
  return {
    chains: async () => (await chains.all()).map(toChain),
    claim: (chain, seen, owner, now) =>
      database.transaction((inside) => claim(inside, chain, seen, owner, now)),
    sendHeartbeat: async (chain, owner, now) => {
      await heartbeat.run(chain, owner, now)
    },
    release: async (chain, owner, now) => {
      await release.run(chain, owner, now)
    },
  }
}

const HEARTBEAT = 'UPDATE audit_chains SET beat_at = $3 WHERE chain = $1 AND owner = $2'
/** In PostgreSQL a single table can be locked: these inserts of no row wait for the same locks as a verification does. */
const HEARTBEAT_WITH_LOCKS = `WITH log AS (INSERT INTO audit SELECT * FROM audit WHERE false),
  tallies AS (INSERT INTO statistics SELECT * FROM statistics WHERE false) ${HEARTBEAT}`

async function claim(
  inside: Database,
  chain: string,
  seen: string | null,
  owner: string,
  now: number,
): Promise<boolean> {
  await inside.lock('audit:claim')
  const row = await inside.prepare('SELECT owner FROM audit_chains WHERE chain = $1').get(chain)
  if (!row) {
    await inside
      .prepare('INSERT INTO audit_chains (chain, owner, beat_at) VALUES ($1, $2, $3)')
      .run(chain, owner, now)
    return true
  }
  if (row.owner !== seen) return false
  await inside
    .prepare('UPDATE audit_chains SET owner = $2, beat_at = $3 WHERE chain = $1')
    .run(chain, owner, now)
  return true
}

const toChain = (row: Row): Chain => ({
  chain: String(row.chain),
  owner: row.owner === null ? null : String(row.owner),
  beatAt: Number(row.beat_at),
})
