import type { Database } from '../database/database.ts'

/** The key that a paid call is made for, and the month in Lagos time, such as 2026-11. */
export type SpendKey = { readonly id: string; readonly month: string }

type Spent = { readonly name: string; readonly kobo: number }

export async function addKeySpend(
  tx: Database,
  { id, month }: SpendKey,
  { name, kobo }: Spent,
): Promise<void> {
  await tx
    .prepare(
      `INSERT INTO key_spend (month, key_id, name, calls, kobo) VALUES ($1, $2, $3, 1, $4)
       ON CONFLICT (month, key_id, name) DO UPDATE SET
         calls = key_spend.calls + 1, kobo = key_spend.kobo + excluded.kobo`,
    )
    .run(month, id, name, kobo)
}

export async function refundKeySpend(
  tx: Database,
  { id, month }: SpendKey,
  { name, kobo }: Spent,
): Promise<void> {
  await tx
    .prepare(
      `UPDATE key_spend SET calls = calls - 1, kobo = kobo - $4
       WHERE month = $1 AND key_id = $2 AND name = $3 AND calls > 0 AND kobo >= $4`,
    )
    .run(month, id, name, kobo)
}
