import type { Database } from '../database/database.ts'

/**
 * A chain belongs to the month (in UTC) in which it was begun, and its name says which: `y2026m11-3f9a1c5e-1`. In PostgreSQL the
 * chains of a month are a partition. Chains from before have no month, and are in a partition of their own.
 */
type MonthTable = {
  /** The present month, in which chains can be begun; undefined if it has no partition and none can be created. */
  readonly openMonth: (now: number) => Promise<string | undefined>
  /** Creates the partitions of this month and of the next ones. Blocks no reads and no writes. */
  readonly prepareMonths: (now: number) => Promise<void>
}

/** This month and the next two: a server that runs without a restart prepares them every hour. */
const AHEAD = 2

export function createMonthTable(database: Database): MonthTable {
  if (database.dialect === 'sqlite')
    return { openMonth: async (now) => toMonth(now), prepareMonths: async () => {} }
  const find = database.prepare(
    "SELECT 1 AS found FROM pg_inherits WHERE inhrelid = to_regclass('audit_' || $1)",
  )
  const hasMonth = async (month: string) => (await find.get(month)) !== undefined
  const prepareMonths = async (now: number) => {
    if (await hasMonth(toMonth(now, AHEAD))) return
    await database.transaction(async (tx) => {
      await tx.lock('audit:months')
      for (let ahead = 0; ahead <= AHEAD; ahead += 1) await createMonth(tx, toMonth(now, ahead))
    })
  }
  return {
    prepareMonths,
    openMonth: async (now) => {
      const month = toMonth(now)
      if (await hasMonth(month)) return month
      // The hourly attempt reports the reason.
      await prepareMonths(now).catch(() => {})
      return (await hasMonth(month)) ? month : undefined
    },
  }
}

/** Creates the partitions of these chains, for a restore. */
export async function prepareMonthsOf(tx: Database, chains: Iterable<string>): Promise<void> {
  const months = new Set([...chains].flatMap((chain) => monthOf(chain) ?? []))
  for (const month of months) await createMonth(tx, month)
}

const createMonth = (tx: Database, month: string) =>
  tx.prepare('SELECT create_audit_month($1, $2)').run(month, toMonth(startOf(month), 1))

/** The name of a month in the names of chains: y2026m11. */
export function toMonth(at: number, later = 0): string {
  const date = new Date(at)
  const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later))
  return `y${first.toISOString().slice(0, 7).replace('-', 'm')}`
}

const MONTH = /^y\d{4}m(?:0[1-9]|1[0-2])(?=-)/

/** The month of a chain; undefined if it was begun before chains had months. */
export const monthOf = (chain: string): string | undefined => MONTH.exec(chain)?.[0]

/** In PostgreSQL, the partition of a chain. A month consists of letters and digits, so the name needs no quotes. */
export const partitionOf = (chain: string): string => `audit_${monthOf(chain) ?? 'undated'}`

/** When a month begins. */
export const startOf = (month: string): number =>
  Date.UTC(Number(month.slice(1, 5)), Number(month.slice(6, 8)) - 1)

/** When the next month begins. */
export const endOf = (month: string): number => startOf(toMonth(startOf(month), 1))
