import type { Database, Row } from '../database/database.ts'
import type { Checkpoint } from './audit-table.ts'

/** What is known about a witness. `target` is a hash of its address. */
type WitnessState = {
  /** The time of the newest checkpoint that it has accepted. */
  readonly lastSent: string | undefined
  readonly sentAt: number | undefined
  readonly failingSince: number | undefined
  readonly failure: string | undefined
}

/** Which checkpoints were sent to the witness. Times of checkpoints are ISO texts, other times are in ms. */
export type WitnessTable = {
  /** True while `holder` may send. A holder that ends without releasing delays the next one until `until`. */
  readonly claim: (claim: Claim) => Promise<boolean>
  readonly release: (target: string, holder: string) => Promise<void>
  /**
   * The oldest checkpoints that were not sent. Those before `recent` are taken as sent once a later one was; a node whose clock
   * is behind, and a clock that was set back, add checkpoints to the recent ones.
   */
  readonly listUnsent: (target: string, recent: string, most: number) => Promise<Checkpoint[]>
  /** Up to 1000. */
  readonly countUnsent: (target: string, recent: string) => Promise<number>
  readonly markSent: (
    target: string,
    sent: readonly Checkpoint[],
    recent: string,
    at: number,
  ) => Promise<void>
  readonly markFailed: (target: string, failure: string, at: number) => Promise<void>
  readonly read: (target: string) => Promise<WitnessState | undefined>
}

type Claim = {
  readonly target: string
  readonly holder: string
  readonly now: number
  readonly until: number
}

const MOST_COUNTED = 1000

const CREATE = `INSERT INTO witness_states (target, sent_before, holder, held_until) VALUES ($1, '', $2, 0)
  ON CONFLICT (target) DO NOTHING`
const CLAIM = `UPDATE witness_states SET holder = $2, held_until = $4
  WHERE target = $1 AND (holder = $2 OR held_until < $3)`

const toUnsent = (least: string) => `FROM checkpoints AS made
  WHERE made.time >= ${least}($2, COALESCE((SELECT sent_before FROM witness_states WHERE target = $1), ''))
  AND NOT EXISTS (SELECT 1 FROM witness_receipts AS sent
    WHERE sent.target = $1 AND sent.time = made.time AND sent.signature = made.signature)`

const SENT = `UPDATE witness_states SET sent_before = CASE WHEN sent_before > $2 THEN sent_before ELSE $2 END,
    last_sent = CASE WHEN last_sent > $3 THEN last_sent ELSE $3 END, sent_at = $4, failing_since = NULL, failure = NULL
  WHERE target = $1`

export function createWitnessTable(database: Database): WitnessTable {
  const unsent = toUnsent(database.dialect === 'postgres' ? 'LEAST' : 'MIN')
  return {
    claim: ({ target, holder, now, until }) =>
      database.transaction(async (inside) => {
        await inside.prepare(CREATE).run(target, holder)
        return (await inside.prepare(CLAIM).run(target, holder, now, until)) > 0
      }),
    release: async (target, holder) => {
      const sql = 'UPDATE witness_states SET held_until = 0 WHERE target = $1 AND holder = $2'
      await database.prepare(sql).run(target, holder)
    },
    listUnsent: async (target, recent, most) =>
      (await database
        .prepare(
          `SELECT made.time, made.body, made.signature ${unsent} ORDER BY made.time, made.signature LIMIT $3`,
        )
        .all(target, recent, most)) as Checkpoint[],
    countUnsent: async (target, recent) =>
      Number(
        (
          await database
            .prepare(`SELECT COUNT(*) AS count FROM (SELECT 1 ${unsent} LIMIT ${MOST_COUNTED}) AS unsent`)
            .get(target, recent)
        )?.count ?? 0,
      ),
    markSent: (target, sent, recent, at) =>
      database.transaction((inside) => markSent(inside, target, sent, recent, at)),
    markFailed: async (target, failure, at) => {
      const sql = `UPDATE witness_states SET failing_since = COALESCE(failing_since, $3), failure = $2 WHERE target = $1`
      await database.prepare(sql).run(target, failure, at)
    },
    read: async (target) => {
      const sql = 'SELECT last_sent, sent_at, failing_since, failure FROM witness_states WHERE target = $1'
      const row = await database.prepare(sql).get(target)
      return row && toState(row)
    },
  }
}

async function markSent(
  inside: Database,
  target: string,
  sent: readonly Checkpoint[],
  recent: string,
  at: number,
): Promise<void> {
  const last = sent.at(-1)
  if (!last) return
  await inside
    .prepare(
      'INSERT INTO witness_receipts (target, time, signature) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    )
    .runAll(sent.map(({ time, signature }) => [target, time, signature]))
  const before = last.time < recent ? last.time : recent
  await inside.prepare(SENT).run(target, before, last.time, at)
  await inside.prepare('DELETE FROM witness_receipts WHERE target = $1 AND time < $2').run(target, before)
}

const toState = (row: Row): WitnessState => ({
  lastSent: row.last_sent === null ? undefined : String(row.last_sent),
  sentAt: row.sent_at === null ? undefined : Number(row.sent_at),
  failingSince: row.failing_since === null ? undefined : Number(row.failing_since),
  failure: row.failure === null ? undefined : String(row.failure),
})
