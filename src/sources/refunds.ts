import type { SourceTable, SpendWish } from '../store/source-table.ts'

type Refund = Omit<SpendWish, 'capKobo'>

/** Takes spend back without anybody waiting for it. What cannot be written now is owed, and tried again with the next. */
export type Refunds = {
  /** Never fails. */
  readonly give: (refund: Refund) => Promise<void>
  /** Begins to write what is owed. */
  readonly retry: () => void
  /** Writes what is owed, as far as that can be done now. */
  readonly close: () => Promise<void>
}

export function createRefunds(table: Pick<SourceTable, 'refund'>): Refunds {
  let owed: Refund[] = []
  const writing = new Set<Promise<void>>()

  const give = async (refund: Refund): Promise<void> => {
    const work = table.refund(refund).catch(() => {
      // The store is away for a moment. Until it is back too much is counted, never too little.
      owed.push(refund)
    })
    writing.add(work)
    await work
    writing.delete(work)
  }
  const retry = () => {
    const debts = owed
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
