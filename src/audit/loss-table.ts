import type { Database, Row } from '../database/database.ts'

/** Rows of a chain that callers were answered on and that the database no longer has: those after `kept`. */
export type Loss = {
  readonly chain: string
  /** The last row that is still there; 0 if there is none. */
  readonly kept: number
  readonly acknowledged: number
  /** The references of the lost verifications, as far as the node that wrote them knows. */
  readonly references: readonly string[]
}

export type LossTable = {
  /** Also retires the chain. A loss that is known keeps what more is known of it. One that grew is open again. */
  readonly insert: (loss: Loss, now: number) => Promise<void>
  /** Whether all of it is accepted. */
  readonly isAccepted: (loss: LostRows) => Promise<boolean>
  readonly list: (state: 'open' | 'accepted') => Promise<Loss[]>
  /** Does nothing if the loss has grown meanwhile. */
  readonly accept: (loss: LostRows, now: number) => Promise<void>
}

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
const LIST = 'SELECT chain, kept, acknowledged, lost_references FROM audit_losses'

export function createLossTable(database: Database): LossTable {
  const find = database.prepare(
    `SELECT 1 AS found FROM audit_losses
     WHERE chain = $1 AND kept = $2 AND acknowledged >= $3 AND accepted_at IS NOT NULL`,
  )
  const open = database.prepare(`${LIST} WHERE accepted_at IS NULL ORDER BY chain, kept`)
  const accepted = database.prepare(`${LIST} WHERE accepted_at IS NOT NULL ORDER BY chain, kept`)
  return {
    insert: ({ chain, kept, acknowledged, references }, now) =>
      database.transaction(async (tx) => {
        const retire = tx.prepare('UPDATE audit_chains SET retired_at = $2 WHERE chain = $1')
        await tx.prepare(INSERT).run(chain, kept, acknowledged, JSON.stringify(references), now)
        await retire.run(chain, FOR_EVER)
      }),
    isAccepted: async ({ chain, kept, acknowledged }) =>
      (await find.get(chain, kept, acknowledged)) !== undefined,
    list: async (state) => (await (state === 'open' ? open : accepted).all()).map(toLoss),
    accept: async ({ chain, kept, acknowledged }, now) => {
      await database
        .prepare(
          'UPDATE audit_losses SET accepted_at = $4 WHERE chain = $1 AND kept = $2 AND acknowledged <= $3',
        )
        .run(chain, kept, acknowledged, now)
    },
  }
}

const toLoss = (row: Row): Loss => ({
  chain: String(row.chain),
  kept: Number(row.kept),
  acknowledged: Number(row.acknowledged),
  references: JSON.parse(String(row.lost_references)) as string[],
})
