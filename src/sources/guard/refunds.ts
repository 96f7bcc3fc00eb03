import type { Refund, SourceTable } from '../source-table.ts'

/** Writes refunds of spend in the background. A refund that cannot be written is kept and retried with the next call. */
export type Refunds = {
  /** Never fails. */
  readonly give: (refund: Refund) => Promise<void>
  /** Starts to write the pending refunds. */
  readonly retry: () => void
  /** Tries to write the pending refunds once more. */
  readonly close: () => Promise<void>
}

/** The ids of refunds are kept this long. An older refund is not retried: its id may have been deleted, and it would count twice. */
export const REFUND_DAYS = 7

export function createRefunds(table: Pick<SourceTable, 'refund'>, today: () => number): Refunds {
  let pending: Refund[] = []
  const writing = new Set<Promise<void>>()

  const give = async (refund: Refund): Promise<void> => {
    const work = table.refund(refund).catch(() => {
      // It may have been written, with only the confirmation lost. The id prevents counting it twice.
      pending.push(refund)
    })
    writing.add(work)
    await work
    writing.delete(work)
  }
  const retry = () => {
    const refunds = pending.filter(({ day }) => day > today() - REFUND_DAYS)
    pending = []
    for (const refund of refunds) void give(refund)
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
