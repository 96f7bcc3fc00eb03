import {
  defineColumns,
  defineTable,
  number,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'
import { packValues, toUnpack } from '../ledger/queue-rows.ts'
import { SPANS, type Span } from '../ledger/tally.ts'

/** `failed`: the vendor gave no usable answer. `cut`: our own deadline ended the call, which says nothing about the vendor. */
export type CallResult = 'answered' | 'failed' | 'cut'

/** How many calls of one span had the same result and class of duration, and their cost. */
const CALLS = defineColumns({
  span: text<Span>(),
  at: text(),
  node: text(),
  source: text(),
  operation: text(),
  result: text<CallResult>(),
  class: number(),
  count: number(),
  kobo: number(),
})
export type SourceCallCount = RowOf<typeof CALLS>

/** Over all nodes and operations. */
const STEP = defineColumns({
  at: text(),
  source: text(),
  result: text<CallResult>(),
  class: number(),
  count: number(),
  kobo: number(),
})
export type SourceCallStep = RowOf<typeof STEP>

export const sourceCallTable = defineTable({
  reads: (database) => {
    const list = database.prepare(
      `SELECT at, source, result, class, SUM(count) AS count, SUM(kobo) AS kobo FROM source_calls
       WHERE span = $1 AND at >= $2 AND at <= $3 GROUP BY at, source, result, class ORDER BY source, at`,
    )
    return {
      /** From a span until another, both included. */
      list: async (period: { readonly span: Span; readonly from: string; readonly until: string }) =>
        (await list.all(period.span, period.from, period.until)).map(STEP.decode),
    }
  },
  writes: (database) => ({
    /** In one statement. No two of the same span, result and class. */
    add: async (counts: readonly SourceCallCount[]) => {
      const { rows, text, number } = toUnpack(database)
      await database
        .prepare(
          `INSERT INTO source_calls (${CALLS.names})
           SELECT ${[0, 1, 2, 3, 4, 5].map(text).join(', ')}, ${[6, 7, 8].map(number).join(', ')} FROM ${rows('$1')} WHERE TRUE
           ON CONFLICT (span, at, node, source, operation, result, class) DO UPDATE SET
             count = source_calls.count + excluded.count, kobo = source_calls.kobo + excluded.kobo`,
        )
        .run(packValues(counts.map(CALLS.encode)))
    },
    /** Deletes some of the spans before these; see delete-some.ts. */
    deleteExpired: async (firstKept: Readonly<Record<Span, string>>) => {
      let most = 0
      for (const span of SPANS)
        most = Math.max(
          most,
          await deleteSome(database, 'source_calls', 'span = $1 AND at < $2', span, firstKept[span]),
        )
      return most
    },
  }),
})
export type SourceCallTable = TableOf<typeof sourceCallTable>
