import { MINUTE_MS } from '../contract/time.ts'
import { createBlockStore } from './block-store.ts'
import { BlockWriter, type FinishedRequest, type PlainBlock } from './block-writer.ts'
import type { RequestTable } from './request-table.ts'

/** The requests of this process, collected in memory and written every two seconds: a crash loses a few seconds of them. */
export type RequestLog = {
  readonly add: (request: FinishedRequest) => void
  /** A request whose key is still being looked up: it is added when `work` has ended, and `flush` and `close` wait for that. */
  readonly addLater: (work: Promise<void>) => void
  /** A request without a valid key: only its status is counted. */
  readonly countKeyless: (status: number) => void
  /** Writes what was collected. After a failure it is kept for the next flush. */
  readonly flush: () => Promise<void>
  /** Requests that were dropped because the store was unavailable for too long. */
  readonly countDropped: () => number
  readonly close: () => Promise<void>
}

const FLUSH_EVERY_MS = 2000
/** Requests without a key are written at least so often: health checks alone do not cause a commit every two seconds. */
const KEYLESS_EVERY_MS = MINUTE_MS
/** Blocks that wait for the store: about a hundred thousand requests, 16 MB. */
const MOST_WAITING = 50
/** So many full blocks are written before the next flush is due. */
const FLUSH_AT = 8

export function createRequestLog(table: Pick<RequestTable, 'append'>, owner: string): RequestLog {
  const waiting: PlainBlock[] = []
  const later = new Set<Promise<void>>()
  const blocks = createBlockStore(table)
  let dropped = 0
  let flushing: Promise<void> | undefined
  let keylessAt = performance.now()
  const writer = new BlockWriter(owner, (block) => {
    waiting.push(block)
    // The first one may be being written.
    if (waiting.length > MOST_WAITING) dropped += waiting.splice(flushing ? 1 : 0, 1)[0]?.requests ?? 0
    if (waiting.length === FLUSH_AT) void flush()
  })
  const writeAll = async () => {
    for (let block = waiting[0]; block; block = waiting[0]) {
      try {
        await blocks.write(block)
      } catch {
        // Store unavailable; reported elsewhere.
        return
      }
      waiting.shift()
    }
  }
  const flush = () => {
    flushing ??= writeAll().finally(() => {
      flushing = undefined
    })
    return flushing
  }
  const tick = () => {
    const isDue = performance.now() - keylessAt >= KEYLESS_EVERY_MS
    if (writer.hasRequests || isDue) {
      keylessAt = performance.now()
      writer.seal()
    }
    if (waiting.length > 0) void flush()
  }
  const timer = setInterval(tick, FLUSH_EVERY_MS).unref()
  const flushAll = async () => {
    await Promise.all(later)
    await flushing
    writer.seal()
    await flush()
  }
  return {
    add: (request) => writer.add(request),
    addLater: (work) => {
      const ended = work.finally(() => later.delete(ended))
      later.add(ended)
    },
    countKeyless: (status) => writer.countKeyless(status),
    flush: flushAll,
    countDropped: () => dropped,
    close: async () => {
      clearInterval(timer)
      await flushAll()
    },
  }
}
