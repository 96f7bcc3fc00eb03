import {
  defineColumns,
  defineTable,
  json,
  named,
  number,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'

/** Rows of a chain that callers were answered on and that the database no longer has: those after `kept`. */
const LOSS = defineColumns({
  chain: text(),
  /** The last row that is still there; 0 if there is none. */
  kept: number(),
  acknowledged: number(),
  /** The references of the lost verifications, as far as the node that wrote them knows. */
  references: named('lost_references', json<readonly string[]>()),
})
export type Loss = RowOf<typeof LOSS>

type LostRows = Omit<Loss, 'references'>

/** Later than any heartbeat. */
const FOR_EVER = Number.MAX_SAFE_INTEGER

const INSERT = `INSERT INTO audit_losses (chain, kept, acknowledged, lost_references, found_at)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (chain, kept) DO UPDATE SET
    acknowledged = CASE WHEN excluded.acknowledged > audit_losses.acknowledged
      THEN excluded.acknowledged ELSE audit_losses.acknowledged END,
    lost_references = CASE WHEN length(excluded.lost_references) > length(audit_losses.lost_references)
      THEN excluded.lost_references ELSE audit_losses.lost_references END,
    accepted_at = NULL
  WHERE audit_losses.accepted_at IS NULL OR excluded.acknowledged > audit_losses.acknowledged`
/** Also a chain that is not there, as after the restore of an older backup: its name is not taken again. */
const RETIRE = `INSERT INTO audit_chains (chain, beat_at, retired_at) VALUES ($1, $2, $3)
  ON CONFLICT (chain) DO UPDATE SET retired_at = excluded.retired_at`
const LIST = `SELECT ${LOSS.names} FROM audit_losses`

export const lossTable = defineTable({
  reads: (database) => {
    const find = database.prepare(
      `SELECT 1 AS found FROM audit_losses
       WHERE chain = $1 AND kept = $2 AND acknowledged >= $3 AND accepted_at IS NOT NULL`,
    )
    const open = database.prepare(`${LIST} WHERE accepted_at IS NULL ORDER BY chain, kept`)
    const accepted = database.prepare(`${LIST} WHERE accepted_at IS NOT NULL ORDER BY chain, kept`)
    return {
      /** Whether all of it is accepted. */
      isAccepted: async ({ chain, kept, acknowledged }: LostRows) =>
        (await find.get(chain, kept, acknowledged)) !== undefined,
      list: async (state: 'open' | 'accepted') =>
        (await (state === 'open' ? open : accepted).all()).map(LOSS.decode),
    }
  },
  writes: (database) => ({
    /** Also retires the chain. A loss that is known keeps what more is known of it. One that grew is open again. */
    insert: (loss: Loss, now: number) =>
      database.transaction(async (tx) => {
        await tx.prepare(INSERT).run(...LOSS.encode(loss), now)
        await tx.prepare(RETIRE).run(loss.chain, now, FOR_EVER)
      }),
    /** Does nothing if the loss has grown meanwhile. */
    accept: async ({ chain, kept, acknowledged }: LostRows, now: number) => {
      await database
        .prepare(
          'UPDATE audit_losses SET accepted_at = $4 WHERE chain = $1 AND kept = $2 AND acknowledged <= $3',
        )
        .run(chain, kept, acknowledged, now)
    },
  }),
})
export type LossTable = TableOf<typeof lossTable>
