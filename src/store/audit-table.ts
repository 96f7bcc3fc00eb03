import { prepareHeartbeat } from './audit-heartbeat.ts'
import { type AuditQueries, createAuditQueries } from './audit-queries.ts'
import { AUDIT_COLUMNS, type AuditRow, type FieldPolicy, type LoggedRow } from './audit-row.ts'
import { type CheckBatch, type CheckFacts, findRefused, type Refused } from './commit-check.ts'
import type { Database, Row, Value } from './database.ts'
import type { ClaimId } from './idempotency-table.ts'
import { CHECK_VERIFICATIONS, retryIfStored, toCheckValues } from './postgres-checks.ts'
import { type ApplyChecks, createSqliteChecks } from './sqlite-checks.ts'
import { ADD_TALLY, type PackedTallies, toAddPackedTallies, unpackTallies } from './statistics-table.ts'
import { createSubjectQueries, type SubjectQueries } from './subject-queries.ts'

export type Head = { readonly sequence: number; readonly hash: Uint8Array }

export type Chain = { readonly chain: string; readonly owner: string | null; readonly beatAt: number }

export type Checkpoint = { readonly time: string; readonly body: string; readonly signature: string }

/** The first response under an Idempotency-Key, stored in the same commit as its audit rows. */
export type Completion = {
  readonly claim: ClaimId
  readonly sealed: Uint8Array
  /** Until when the response is kept. */
  readonly expiresAt: number
}

/** Rows as one JSON text: cheap to send to the writer thread, and PostgreSQL inserts the batch in one statement. */
type PackedRows = string

/** The values of each row in the order of its columns; hashes in hex. */
export const packRows = (rows: readonly AuditRow[]): PackedRows =>
  JSON.stringify(
    rows.map((row) =>
      AUDIT_COLUMNS.map((column) => (isHash(column) ? toHex(row[column] as Uint8Array) : row[column])),
    ),
  )

const isHash = (column: string) => column === 'previous_hash' || column === 'hash'
const toHex = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

export type Appended = {
  /** If there are any, nothing was written. */
  readonly refused: Refused
  /** Indexes of the completions whose claim another request has taken: those are not written. */
  readonly late: readonly number[]
}

const APPENDED: Appended = { refused: [], late: [] }

/** Offers no update and no delete; triggers in the database refuse them as well. */
export type AuditTable = AuditQueries &
  SubjectQueries & {
    /**
     * Writes all rows, completions and tallies in one commit, with what the checks count; or nothing, if a check refuses a
     * verification.
     */
    readonly append: (
      rows: PackedRows,
      completions: readonly Completion[],
      tallies?: PackedTallies,
      checks?: CheckBatch,
    ) => Promise<Appended>
    /** Stores the policies that rows refer to; those that exist stay as they are. */
    readonly insertPolicies: (policies: readonly FieldPolicy[]) => Promise<void>
    readonly head: (chain: string) => Promise<Head | undefined>
    readonly find: (chain: string, sequence: number) => Promise<LoggedRow | undefined>
    readonly byReference: (reference: string) => Promise<LoggedRow[]>
    /** The next rows of a chain, in order. */
    readonly page: (chain: string, after: number, most: number) => Promise<LoggedRow[]>
    readonly hashes: (chain: string, after: number, upTo: number) => Promise<Uint8Array[]>
    readonly chains: () => Promise<Chain[]>
    /** Takes a chain from the owner that was read (null: a free or a new chain). False when another process was faster. */
    readonly claim: (chain: string, seen: string | null, owner: string, now: number) => Promise<boolean>
    /** Renews the claim of the owner. Fails when the log cannot be written. */
    readonly sendHeartbeat: (chain: string, owner: string, now: number) => Promise<void>
    /** Gives the chain up, so that another process can claim it. */
    readonly release: (chain: string, owner: string, now: number) => Promise<void>
    readonly insertCheckpoint: (checkpoint: Checkpoint) => Promise<void>
    readonly lastCheckpoint: () => Promise<Checkpoint | undefined>
    readonly listCheckpoints: () => Promise<Checkpoint[]>
  }

const LIST = AUDIT_COLUMNS.join(', ')
/** The columns to read. */
const LOGGED = `${LIST}, CASE format WHEN 1 THEN fields_released
  ELSE (SELECT fields FROM field_policies WHERE id = fields_released) END AS released`
const INSERT = `INSERT INTO audit (${LIST}) VALUES (${AUDIT_COLUMNS.map((_column, index) => `$${index + 1}`).join(', ')})`

const INSERT_POLICY = 'INSERT INTO field_policies (id, fields) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING'

/** PostgreSQL unpacks the batch itself: one round trip instead of one for each row. */
const toInsertPacked = (rows: string) =>
  `INSERT INTO audit (${LIST}) SELECT ${AUDIT_COLUMNS.map(toColumnOfJson).join(', ')}
  FROM jsonb_array_elements(${rows}::jsonb) WITH ORDINALITY AS batch(row, position) ORDER BY position`
const INSERT_PACKED = `WITH tallied AS (${toAddPackedTallies('$2')}) ${toInsertPacked('$1')}`

/** The same if all checks pass. The snapshot of the checks is their own, taken after their locks. */
const ifPassed = (parameter: string) =>
  `(CASE WHEN (SELECT facts IS NULL FROM checked) THEN ${parameter}::jsonb ELSE '[]'::jsonb END)`
const INSERT_CHECKED = `WITH checked AS MATERIALIZED (SELECT ${CHECK_VERIFICATIONS} AS facts),
  tallied AS (${toAddPackedTallies(ifPassed('$2'))}), appended AS (${toInsertPacked(ifPassed('$1'))})
  SELECT facts FROM checked`

function toColumnOfJson(column: string, index: number): string {
  const value = `row->>${index}`
  if (isHash(column)) return `decode(${value}, 'hex')`
  return column === 'sequence' || column === 'format' ? `(${value})::bigint` : value
}

function* unpackRows(rows: PackedRows): Generator<Value[]> {
  for (const values of JSON.parse(rows) as (string | number | null)[][])
    yield values.map((value, index) =>
      isHash(AUDIT_COLUMNS[index] ?? '') ? Buffer.from(value as string, 'hex') : value,
    )
}

export function createAuditTable(database: Database): AuditTable {
  const head = database.prepare(
    'SELECT sequence, hash FROM audit WHERE chain = $1 ORDER BY sequence DESC LIMIT 1',
  )
  const find = database.prepare(`SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence = $2`)
  const byReference = database.prepare(
    `SELECT ${LOGGED} FROM audit WHERE request_reference = $1 ORDER BY time, sequence`,
  )
  const page = database.prepare(
    `SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
  )
  // As one text: reading the hashes row by row costs several times as much.
  const hashes = database.prepare(
    `SELECT string_agg(${database.dialect === 'postgres' ? "encode(hash, 'hex')" : 'hex(hash)'}, '' ORDER BY sequence) AS hashes
     FROM audit WHERE chain = $1 AND sequence > $2 AND sequence <= $3`,
  )
  const chains = database.prepare('SELECT chain, owner, beat_at FROM audit_chains ORDER BY chain')
  const heartbeat = prepareHeartbeat(database)
  const release = database.prepare(
    'UPDATE audit_chains SET owner = NULL, beat_at = $3 WHERE chain = $1 AND owner = $2',
  )
  const insertCheckpoint = database.prepare(
    'INSERT INTO checkpoints (time, body, signature) VALUES ($1, $2, $3)',
  )
  const lastCheckpoint = database.prepare(
    'SELECT time, body, signature FROM checkpoints ORDER BY time DESC LIMIT 1',
  )
  const listCheckpoints = database.prepare('SELECT time, body, signature FROM checkpoints ORDER BY time')
  const applyChecks: ApplyChecks | undefined = database.sync && createSqliteChecks(database.sync)
  const isPostgres = database.dialect === 'postgres'
  return {
    ...createAuditQueries(database, LOGGED),
    ...createSubjectQueries(database, LOGGED),
    append: async (rows, completions, tallies = '[]', checks = undefined) => {
      const batch = { rows, completions, tallies, checks }
      // A single statement is its own transaction.
      return retryIfStored(() =>
        isPostgres && completions.length === 0
          ? appendPacked(database, batch)
          : database.transaction((inside) => appendInside(inside, batch, applyChecks)),
      )
    },
    insertPolicies: (policies) =>
      database.transaction(async (inside) => {
        const values = policies.map(({ id, fields }) => [id, fields])
        await inside.prepare(INSERT_POLICY).runAll(values)
      }),
    head: async (chain) => {
      const row = await head.get(chain)
      return row && { sequence: Number(row.sequence), hash: row.hash as Uint8Array }
    },
    find: async (chain, sequence) => (await find.get(chain, sequence)) as LoggedRow | undefined,
    byReference: async (reference) => (await byReference.all(reference)) as LoggedRow[],
    page: async (chain, after, most) => (await page.all(chain, after, most)) as LoggedRow[],
    hashes: async (chain, after, upTo) =>
      toHashes(Buffer.from(String((await hashes.get(chain, after, upTo))?.hashes ?? ''), 'hex')),
    chains: async () => (await chains.all()).map(toChain),
    claim: (chain, seen, owner, now) =>
      database.transaction((inside) => claim(inside, chain, seen, owner, now)),
    sendHeartbeat: async (chain, owner, now) => {
      await heartbeat.run(chain, owner, now)
    },
    release: async (chain, owner, now) => {
      await release.run(chain, owner, now)
    },
    insertCheckpoint: async ({ time, body, signature }) => {
      await insertCheckpoint.run(time, body, signature)
    },
    lastCheckpoint: async () => (await lastCheckpoint.get()) as Checkpoint | undefined,
    listCheckpoints: async () => (await listCheckpoints.all()) as Checkpoint[],
  }
}

type Batch = {
  readonly rows: PackedRows
  readonly completions: readonly Completion[]
  readonly tallies: PackedTallies
  readonly checks: CheckBatch | undefined
}

async function appendInside(
  inside: Database,
  batch: Batch,
  applyChecks: ApplyChecks | undefined,
): Promise<Appended> {
  const { rows, completions, tallies, checks } = batch
  if (inside.dialect === 'postgres') {
    const appended = await appendPacked(inside, batch)
    if (appended.refused.length > 0) return appended
  } else {
    const refused = checks ? (applyChecks?.(checks) ?? []) : []
    if (refused.length > 0) return { refused, late: [] }
    await inside.prepare(INSERT).runAll(unpackRows(rows))
    await inside.prepare(ADD_TALLY).runAll(unpackTallies(tallies))
  }
  return { refused: [], late: await complete(inside, completions) }
}

async function appendPacked(database: Database, { rows, tallies, checks }: Batch): Promise<Appended> {
  if (!checks) {
    await database.prepare(INSERT_PACKED).run(rows, tallies)
    return APPENDED
  }
  const row = await database.prepare(INSERT_CHECKED).get(rows, tallies, ...toCheckValues(checks))
  return row?.facts ? { refused: findRefused(checks, row.facts as CheckFacts), late: [] } : APPENDED
}

/** Stores responses whose Idempotency-Key was claimed before. Returns the indexes of those whose claim was lost. */
async function complete(inside: Database, completions: readonly Completion[]): Promise<number[]> {
  const store = inside.prepare(
    `UPDATE idempotency SET sealed = $5, expires_at = $6
     WHERE key_id = $1 AND operation = $2 AND name = $3 AND owner = $4`,
  )
  const late: number[] = []
  for (const [index, { claim, sealed, expiresAt }] of completions.entries()) {
    const { keyId, operation, name, owner } = claim
    if ((await store.run(keyId, operation, name, owner, sealed, expiresAt)) === 0) late.push(index)
  }
  return late
}

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

const HASH_BYTES = 32

const toHashes = (bytes: Buffer): Uint8Array[] =>
  Array.from({ length: bytes.length / HASH_BYTES }, (_each, index) =>
    bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )

const toChain = (row: Row): Chain => ({
  chain: String(row.chain),
  owner: row.owner === null ? null : String(row.owner),
  beatAt: Number(row.beat_at),
})
