import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../database/database.ts'
import { HEARTBEATS } from '../database/node-table.ts'
import { openDatabase } from '../database/open-database.ts'
import { type DatabasePlace, listPlaces } from '../database/postgres-servers.ts'
import { UserError } from '../errors.ts'
import type { CopiedData } from './copy-data.ts'

/** Opens the copy beside its servers, as another program would. */
async function withCopy<T>(
  { dataDir, databaseUrl }: CopiedData,
  work: (database: Database) => Promise<T>,
  keepsSchema = false,
): Promise<T> {
  const options = { dataDir, databaseUrl, mustExist: true, isScratch: true, keepsSchema }
  const { database, close } = await openDatabase(options)
  try {
    return await work(database)
  } finally {
    await close()
  }
}

/** A server renews its row in this time, unless it stands still. */
const LOOK_AGAIN_MS = HEARTBEATS.postgres.deadMs + HEARTBEATS.postgres.everyMs

/**
 * Throws if a server uses the database of PostgreSQL: then it is not a copy, or the copy is in use. No clock decides this: rows of a server
 * that was killed stay as they are, and a server that stands still stays connected.
 */
export async function refuseRunningServers(
  data: CopiedData,
  lookAgain: () => Promise<unknown> = () => pause(LOOK_AGAIN_MS),
): Promise<void> {
  // It may be live, so nothing of it is changed before it is known.
  const look = () =>
    withCopy(
      data,
      async (database) => ({
        beats: await database.prepare('SELECT owner, seen_at FROM nodes ORDER BY owner').all(),
        sessions: (await database.prepare(SESSIONS).all()).map(({ pid }) => Number(pid)),
      }),
      true,
    )
  const before = await look()
  await lookAgain()
  const { beats, sessions } = await look()
  const stay = sessions.some((pid) => before.sessions.includes(pid))
  if (stay || !isDeepStrictEqual(beats, before.beats))
    throw new UserError(
      'A server is running on that database, so it is live, or another rehearsal uses it. Stop the server, or name a copy.',
    )
}

/** Of other programs of Tabbat. The name is shown to every role. */
const SESSIONS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'tabbat'`

/**
 * Throws if both addresses lead to one database, however they are spelled. The start of a server tells it from every other one, also from a
 * physical copy, which has the same system identifier. Also throws if one server of either address does not say which database it has: texts
 * alone do not tell databases apart, and the silent server may be the one that the other address spells differently.
 */
export async function refuseLiveDatabase(live: string | undefined, copy: string): Promise<void> {
  if (live === undefined) return
  const [ofLive, ofCopy] = await Promise.all([listPlaces(live), listPlaces(copy)])
  const isSame = (one: DatabasePlace, other: DatabasePlace) =>
    one.text === other.text || (one.identity !== undefined && one.identity === other.identity)
  if (ofCopy.some((one) => ofLive.some((other) => isSame(one, other))))
    throw new UserError(
      'The address of the copy leads to the database of TABBAT_DATABASE_URL, which may be live. Make a copy of that database, and name the copy.',
    )
  refuseSilent(ofLive, 'TABBAT_DATABASE_URL', 'Make it reachable, or unset TABBAT_DATABASE_URL.')
  refuseSilent(ofCopy, 'the copy', 'Make it reachable.')
}

function refuseSilent(places: readonly DatabasePlace[], whose: string, remedy: string): void {
  const silent = places.find(({ identity }) => identity === undefined)
  if (silent !== undefined)
    throw new UserError(
      `${silent.text} of ${whose} does not answer or refuses the login, so it cannot be told whether the copy is another database. ${remedy}`,
    )
}

/**
 * What waits in the copy is about customers and for receivers of the operator: it is removed, and endpoints lead to the receiver of the
 * rehearsal. The copy also forgets the servers it was copied from, and what was spent today.
 */
export const quietCopy = (data: CopiedData, receiverUrl: string): Promise<void> =>
  withCopy(data, (database) =>
    database.transaction(async (tx) => {
      for (const sql of WAITING) await tx.prepare(sql).run()
      await tx.prepare('UPDATE webhook_endpoints SET url = $1').run(receiverUrl)
    }),
  )

const WAITING = [
  'DELETE FROM nodes',
  'DELETE FROM source_states',
  'DELETE FROM source_spend',
  'DELETE FROM spend_shares',
  'DELETE FROM unlogged_events',
  "DELETE FROM webhook_deliveries WHERE state = 'pending'",
  'DELETE FROM queued_verifications WHERE due_at IS NOT NULL',
  'DELETE FROM queue_counts',
  'DELETE FROM batch_rows WHERE batch IN (SELECT id FROM batches WHERE ended_at IS NULL)',
  'DELETE FROM batches WHERE ended_at IS NULL',
]

/** The outcome of a verification, as the audit log in the database has it. */
export type OutcomeRow = { readonly reference: string; readonly consent: string; readonly outcome: string }

/** Those of verifications of the rehearsal, by their consent references. */
export const readOutcomes = (data: CopiedData, consents: readonly string[]): Promise<OutcomeRow[]> =>
  withCopy(data, async (database) => {
    const wanted = new Set(consents)
    const rows = await database
      .prepare(
        `SELECT request_reference, consent_reference, outcome FROM audit
         WHERE phase = 'outcome' AND consent_reference LIKE 'rehearsal-%'`,
      )
      .all()
    return rows
      .map((row) => ({
        reference: String(row.request_reference),
        consent: String(row.consent_reference),
        outcome: String(row.outcome),
      }))
      .filter(({ consent }) => wanted.has(consent))
  })

/** An event for an endpoint. */
export type DeliveryRow = { readonly id: string; readonly reference: string; readonly state: string }

/** In the order in which they must arrive, for each reference. */
export const readDeliveries = (data: CopiedData, endpointId: string): Promise<DeliveryRow[]> =>
  withCopy(data, async (database) => {
    const rows = await database
      .prepare(
        'SELECT event_id, reference, state FROM webhook_deliveries WHERE endpoint_id = $1 ORDER BY reference, position, event_id',
      )
      .all(endpointId)
    return rows.map((row) => ({
      id: String(row.event_id),
      reference: String(row.reference),
      state: String(row.state),
    }))
  })

type Tampered = {
  readonly chain: string
  readonly sequence: number
  /** Gives the row its value back. */
  readonly repair: () => Promise<void>
}

/** Changes the outcome of a row in the middle of the longest chain, as an administrator of the database could. */
export async function tamperRow(data: CopiedData): Promise<Tampered> {
  const row = await withCopy(data, (database) => database.prepare(MIDDLE).get())
  if (!row) throw new UserError('The audit log of the copy is empty.')
  const [chain, sequence] = [String(row.chain), Number(row.sequence)]
  const set = (outcome: string | null) =>
    withCopy(data, async (database) => {
      const { off, on } = PROTECTION[database.dialect]
      await database.transaction(async (tx) => {
        for (const sql of off) await tx.prepare(sql).run()
        await tx
          .prepare('UPDATE audit SET outcome = $1 WHERE chain = $2 AND sequence = $3')
          .run(outcome, chain, sequence)
        for (const sql of on) await tx.prepare(sql).run()
      })
    })
  const before = row.outcome === null ? null : String(row.outcome)
  await set(before === 'verified' ? 'not_verified' : 'verified')
  return { chain, sequence, repair: () => set(before) }
}

const MIDDLE = `
  SELECT a.chain, a.sequence, a.outcome FROM audit a JOIN (
    SELECT chain, MIN(sequence) AS first, COUNT(*) AS rows_of FROM audit GROUP BY chain ORDER BY 3 DESC, 1 LIMIT 1
  ) c ON a.chain = c.chain AND a.sequence = c.first + c.rows_of / 2`

/** The triggers that refuse changes. Who can change the database can also switch them off. */
const PROTECTION = {
  sqlite: {
    off: ['DROP TRIGGER audit_no_update'],
    on: [
      `CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END`,
    ],
  },
  postgres: {
    off: ['ALTER TABLE audit DISABLE TRIGGER USER'],
    on: ['ALTER TABLE audit ENABLE TRIGGER USER'],
  },
} as const
