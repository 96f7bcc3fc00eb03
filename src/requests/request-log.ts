import type { KeyObject } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { toTextMac } from '../crypto/mac.ts'
import { isDrawnByChance, type Log } from '../telemetry/log.ts'
import { createBlockStore } from './block-store.ts'
import {
  BlockWriter,
  type FinishedRequest,
  type LoggedRequest,
  type PlainBlock,
  parseCounts,
  toLoggedRequest,
} from './block-writer.ts'
import { BLOCKS_PER_STEP, type RequestTable } from './request-table.ts'
import type { RequestSettings } from './settings.ts'

/** The requests of this process, collected in memory and written every two seconds: a crash loses a few seconds of them. */
export type RequestLog = {
  readonly add: (request: FinishedRequest) => void
  /** A request whose key is still being looked up: it is added when `work` has ended, and `flush` and `close` wait for that. */
  readonly addLater: (work: Promise<void>) => void
  /** A request without a valid key: only its status is counted. */
  readonly countKeyless: (status: number) => void
  /** Writes what was collected. After a failure it is kept for the next flush. */
  readonly flush: () => Promise<void>
  /** The newest of the last seconds that are not known to be written. */
  readonly listUnwritten: () => LoggedRequest[]
  /** Requests that were dropped because the store was unavailable for too long. */
  readonly countDropped: () => number
  readonly close: () => Promise<void>
}

const FLUSH_EVERY_MS = 2000
/** Requests without a key are written at least so often: health checks alone do not cause a commit every two seconds. */
const KEYLESS_EVERY_MS = MINUTE_MS
/** Blocks that wait for the store: about a hundred thousand requests, 16 MB. */
const MAX_WAITING = 50
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
    if (waiting.length > MAX_WAITING) dropped += waiting.splice(flushing ? 1 : 0, 1)[0]?.requests ?? 0
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
    listUnwritten: () => listNewest([...waiting, writer.read()]),
    countDropped: () => dropped,
    close: async () => {
      clearInterval(timer)
      await flushAll()
    },
  }
}

/** As far back as the tail of the log looks, and as many as it shows. */
const UNWRITTEN_MS = 15_000
const MAX_UNWRITTEN = 200

/** Blocks and their requests are in the order of time. */
function listNewest(blocks: readonly PlainBlock[]): LoggedRequest[] {
  const from = Date.now() - UNWRITTEN_MS
  const found: LoggedRequest[] = []
  for (const block of blocks.toReversed()) {
    if (block.toAt < from && block.requests > 0) break
    const kinds = parseCounts(block.counts)
    for (let place = block.requests - 1; place >= 0; place--) {
      const request = toLoggedRequest(block, kinds, block.columns, place)
      if (request.at < from || found.length === MAX_UNWRITTEN) return found
      found.push(request)
    }
  }
  return found
}

type OpenedRequests = {
  /** Undefined: TABBAT_REQUESTS_KEEP is off. */
  readonly requests: RequestLog | undefined
  readonly close: () => Promise<void>
}

type RequestDeps = {
  readonly store: { readonly requests: RequestTable }
  readonly log: Log
  readonly owner: string
  readonly workerNumber: number
}

/** The request log. The first worker of each node deletes what is too old. */
export function openRequests(
  config: RequestSettings,
  { store, log, owner, workerNumber }: RequestDeps,
): OpenedRequests {
  const { requestsKeep: keepMs, requestsMax: mostRequests } = config
  const requests = keepMs === 'off' ? undefined : createRequestLog(store.requests, owner)
  const stopPruning =
    workerNumber === 1 ? startPruning(store.requests, { keepMs, mostRequests }, log.failure) : undefined
  return {
    requests,
    close: async () => {
      await stopPruning?.()
      await requests?.close()
    },
  }
}

type PruneLimits = {
  /** `off`: nothing is kept. */
  readonly keepMs: number | 'off'
  readonly mostRequests: number
}

/** A busy server fills the log in minutes, so the hourly cleanup would come too late. */
const PRUNE_EVERY_MS = 30_000
/** Between two steps, for the requests that are waiting. */
const PAUSE_MS = 20

/** Until the returned function is called: deletes what is too old or too much, in small steps. */
function startPruning(
  table: Pick<RequestTable, 'deleteExpired'>,
  limits: PruneLimits,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  let isStopped = false
  let running: Promise<void> | undefined
  const run = () => {
    running ??= deleteExpiredRequests(table, limits, () => isStopped)
      .catch(onFailure)
      .finally(() => {
        running = undefined
      })
  }
  const timer = setInterval(run, PRUNE_EVERY_MS).unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    await running
  }
}

export async function deleteExpiredRequests(
  table: Pick<RequestTable, 'deleteExpired'>,
  { keepMs, mostRequests }: PruneLimits,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const before = keepMs === 'off' ? Number.MAX_SAFE_INTEGER : steadyNow() - keepMs
  while (!isStopped() && (await table.deleteExpired(before, mostRequests)) === BLOCKS_PER_STEP)
    await pause(PAUSE_MS)
}

const HASHED = /^own_[0-9a-f]{32}$/

/**
 * A request id as the log has it. An id that its caller has chosen may be a number or a name, so only a keyed hash of it is
 * stored, by which it is still found.
 */
export const toStoredId = (key: KeyObject, id: string): string =>
  isDrawnByChance(id) ? id : `own_${toTextMac(key, id).slice(0, 32)}`

/** Whether a text is what the log has: it says nothing about a person. */
export const isStoredId = (text: string): boolean => HASHED.test(text) || isDrawnByChance(text)

/** The same for an id to search by, which may be the stored one. */
export const toSearchedId = (key: KeyObject, text: string): string =>
  isStoredId(text) ? text : toStoredId(key, text)
