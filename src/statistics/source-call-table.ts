import type { Database } from '../database/database.ts'
import { deleteSome } from '../database/delete-some.ts'
import { SPANS, type Span } from '../ledger/tally.ts'

/** `failed`: the vendor gave no usable answer. `cut`: our own deadline ended the call, which says nothing about the vendor. */
export type CallResult = 'answered' | 'failed' | 'cut'

/** How many calls of one span had the same result and class of duration, and their cost. */
export type SourceCallCount = {
  readonly span: Span
  readonly at: string
  readonly node: string
  readonly source: string
  readonly operation: string
  readonly result: CallResult
  readonly class: number
  readonly count: number
  readonly kobo: number
}

/** Over all nodes and operations. */
export type SourceCallStep = Pick<SourceCallCount, 'at' | 'source' | 'result' | 'class' | 'count' | 'kobo'>

export type SourceCallTable = {
  readonly add: (counts: readonly SourceCallCount[]) => Promise<void>
  /** From a span until another, both included. */
  readonly list: (period: {
    readonly span: Span
    readonly from: string
    readonly until: string
  }) => Promise<SourceCallStep[]>
  /** Deletes some of the spans before these; see delete-some.ts. */
  readonly deleteExpired: (firstKept: Readonly<Record<Span, string>>) => Promise<number>
}

export function createSourceCallTable(database: Database): SourceCallTable {
  const list = database.prepare(
    `SELECT at, source, result, class, SUM(count) AS count, SUM(kobo) AS kobo FROM source_calls
     WHERE span = $1 AND at >= $2 AND at <= $3 GROUP BY at, source, result, class ORDER BY source, at`,
  )
  return {
    add: (counts) => database.transaction((tx) => addCounts(tx, counts)),
    list: async ({ span, from, until }) =>
      (await list.all(span, from, until)).map((row) => ({
        at: String(row.at),
        source: String(row.source),
        result: row.result as CallResult,
        class: Number(row.class),
        count: Number(row.count),
        kobo: Number(row.kobo),
      })),
    deleteExpired: async (firstKept) => {
      let most = 0
      for (const span of SPANS)
        most = Math.max(
          most,
          await deleteSome(database, 'source_calls', 'span = $1 AND at < $2', span, firstKept[span]),
        )
      return most
    },
  }
}

async function addCounts(tx: Database, counts: readonly SourceCallCount[]): Promise<void> {
  await tx
    .prepare(
      `INSERT INTO source_calls (span, at, node, source, operation, result, class, count, kobo)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (span, at, node, source, operation, result, class) DO UPDATE SET
         count = source_calls.count + excluded.count, kobo = source_calls.kobo + excluded.kobo`,
    )
    .runAll(
      counts.map((each) => [
        each.span,
        each.at,
        each.node,
        each.source,
        each.operation,
        each.result,
        each.class,
        each.count,
        each.kobo,
      ]),
    )
}
