import type { Refund, SourceTable } from '../../store/source-table.ts'

/** Takes spend back in the background. A refund that cannot be written now is kept, and tried again with the next call. */
export type Refunds = {
  /** Never fails. */
  readonly give: (refund: Refund) => Promise<void>
  /** Begins to write what is owed. */
  readonly retry: () => void
  /** Writes what is owed, as far as that can be done now. */
  readonly close: () => Promise<void>
}

/** So many days the ids of refunds are kept. A refund that is older is not sent again: its id could be forgotten. */
export const REFUND_DAYS = 7

export function createRefunds(table: Pick<SourceTable, 'refund'>, today: () => number): Refunds {
  let owed: Refund[] = []
  const writing = new Set<Promise<void>>()

  const give = async (refund: Refund): Promise<void> => {
    const work = table.refund(refund).catch(() => {
      // It may have been written all the same, with only the confirmation lost: the id keeps it from counting twice.
      owed.push(refund)
    })
    writing.add(work)
    await work
    writing.delete(work)
  }
  const retry = () => {
    const debts = owed.filter(({ day }) => day > today() - REFUND_DAYS)
    owed = []
    for (const debt of debts) void give(debt)
  }
  return {
    give,
    retry,
    close: async () => {
      await Promise.all(writing)
      retry()
      await Promise.all(writing)
    },
  }
}
