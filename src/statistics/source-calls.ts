import { SPANS, toSpanName } from '../ledger/span.ts'
import { startFlushTimer, toClass } from './latencies.ts'
import type { CallResult, SourceCallCount, SourceCallTable } from './source-call-table.ts'

type SourceCall = {
  readonly source: string
  readonly operation: string
  readonly result: CallResult
  readonly ms: number
  readonly kobo: number
}

/** Calls to vendors, counted in memory and written every two seconds: a crash loses a few seconds of them. */
export type SourceCalls = {
  readonly count: (call: SourceCall) => void
  /** Writes the counts. After a failure they are kept for the next flush. */
  readonly flush: () => Promise<void>
  readonly close: () => Promise<void>
}

type Counted = Omit<SourceCallCount, 'span' | 'at' | 'node' | 'count' | 'kobo'> & {
  count: number
  kobo: number
}

export function createSourceCalls(table: Pick<SourceCallTable, 'add'>, node: string): SourceCalls {
  let gathered = new Map<string, Counted>()
  const add = (counted: Counted) => {
    const { source, operation, result, class: latencyClass } = counted
    const name = `${source} ${operation} ${result} ${latencyClass}`
    const known = gathered.get(name)
    if (!known) {
      gathered.set(name, counted)
      return
    }
    known.count += counted.count
    known.kobo += counted.kobo
  }
  const write = async () => {
    const taken = [...gathered.values()]
    if (taken.length === 0) return
    gathered = new Map()
    const time = new Date().toISOString()
    try {
      await table.add(
        taken.flatMap((counted) =>
          SPANS.map((span) => ({ ...counted, span, at: toSpanName(span, time), node })),
        ),
      )
    } catch {
      // Store unavailable; reported elsewhere.
      for (const counted of taken) add(counted)
    }
  }
  return {
    count: ({ source, operation, result, ms, kobo }) =>
      add({ source, operation, result, class: toClass(ms), count: 1, kobo }),
    ...startFlushTimer(write),
  }
}
