import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { UnusableKey } from '../keys/authenticate.ts'
import type { Caller } from '../keys/caller.ts'
import { afterRunning, ranMs } from '../telemetry/running-clock.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'
import type { Place } from '../verification/verification-request.ts'
import type { Connection } from './connections.ts'

/** A response. Headers are names and values in turn, lower-case. */
export type Reply = {
  readonly status: number
  readonly headers: readonly string[]
  /** All at once, or piece by piece. */
  readonly body: Buffer | string | AsyncIterable<string>
  /** Bytes of the body, if they are known. */
  readonly length?: number
}

export type Params = Readonly<Record<string, string>>

const NONE: Params = Object.freeze({})

/** A request, its response, and what the access log and the metrics say about it. */
export class Exchange {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly connection: Connection | undefined
  readonly id: string
  /** The id is ours, and not one that the caller chose. */
  readonly isOwnId: boolean
  readonly startedAt = performance.now()
  params: Params = NONE
  /** In the access log and the metrics. */
  operation = 'unknown'
  caller: Caller | undefined = undefined
  /** The key of a 401, if its secret was right. */
  unusableKey: UnusableKey | undefined = undefined
  /** Set by guard.ts, if requests are traced. */
  trace: RequestTrace | undefined = undefined
  /** The error code of the response, or `ok`. */
  outcome = 'ok'
  /** Of the verification that the request is about. */
  reference: string | undefined = undefined
  /** Names of the fields that were wrong. */
  wrongFields: readonly string[] | undefined = undefined
  /** Whether it counts against the in-flight limit. */
  inFlight = false
  /** Whether it counts among the requests that may wait. */
  mayWait = false
  /** Undefined: it was not admitted, or needs no admission. */
  place: Place | undefined = undefined
  /** Set by the listener of the API. */
  storeBudget: StoreBudget | undefined = undefined
  /** The account of the console that makes this call, for the audit log. */
  readonly person: string | undefined
  /** The caller sends its body only after `100 Continue`, which is not sent yet. */
  awaitsContinue = false
  /** Headers that are known before the response is. */
  readonly responseHeaders: string[]

  constructor(raw: IncomingMessage, response: ServerResponse, connection: Connection | undefined) {
    this.person = connection?.account
    this.raw = raw
    this.response = response
    this.connection = connection
    const givenId = raw.headers['x-request-id']
    this.id = toRequestId(givenId)
    this.isOwnId = this.id !== givenId
    this.responseHeaders = ['x-request-id', this.id]
  }

  get path(): string {
    const { url = '/' } = this.raw
    const mark = url.indexOf('?')
    return mark === -1 ? url : url.slice(0, mark)
  }

  /** What follows the question mark. */
  get search(): string {
    const { url = '' } = this.raw
    const mark = url.indexOf('?')
    return mark === -1 ? '' : url.slice(mark + 1)
  }

  sendContinue(): void {
    this.awaitsContinue = false
    this.response.writeContinue()
  }

  /** Of several requests that were sent at once, only the last one may end the connection. */
  get isLatest(): boolean {
    const { connection, raw } = this
    if (connection && connection.socket.readableLength > 0) return false
    return !connection?.latest || connection.latest === raw
  }

  get headers(): IncomingMessage['headers'] {
    return this.raw.headers
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** An object as JSON. The caller adds `cache-control`. */
export const toJsonReply = (body: object, status = 200, headers: readonly string[] = []): Reply => ({
  status,
  headers: ['content-type', JSON_TYPE, ...headers],
  body: JSON.stringify(body),
})

export const toTextReply = (type: string, body: Buffer | string, headers: readonly string[] = []): Reply => ({
  status: 200,
  headers: ['content-type', type, ...headers],
  body,
})

const SAFE = /^[A-Za-z0-9._-]{8,64}$/

/** Random, once for each process. A counter makes each id unique, for a tenth of the cost of a random one. */
const PREFIX = `req_${drawPrefix()}`
/** The last digits of the counter, written out once. */
const TAILS = Array.from({ length: 4096 }, (_, tail) => toHex(tail, 3))
let block = randomBytes(3).readUIntBE(0, 3)
let blockPrefix = ''
let tail = TAILS.length

/** The caller's own id if it is safe to repeat, else a new one. */
export function toRequestId(header: string | string[] | undefined): string {
  if (typeof header === 'string' && SAFE.test(header)) return header
  if (tail === TAILS.length) {
    block += 1
    blockPrefix = PREFIX + toHex(block, 7)
    tail = 0
  }
  const id = `${blockPrefix}${TAILS[tail]}`
  tail += 1
  return id
}

/** With two letters at least: an id of digits alone may be a number of a person, and is not written down; see logged-id.ts. */
function drawPrefix(): string {
  const drawn = randomBytes(11).toString('hex')
  return /[a-f].*[a-f]/.test(drawn) ? drawn : drawPrefix()
}

function toHex(count: number, digits: number): string {
  return count.toString(16).padStart(digits, '0')
}

/** A request has waited for the database as long as it may. Known as a failure of the store by its code. */
class StoreTooSlow extends Error {
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the database took too long for one request')
    this.name = 'StoreTooSlow'
  }
}

/** Kept for the commit of an answer, so that one that was paid for is not lost to a caller who has waited before. */
const COMMIT_PART = 0.35

/** The time that one request may wait for the database in all (TABBAT_STORE_TIMEOUT). Waits for vendors and callers do not count. */
export class StoreBudget {
  readonly #commitMs: number
  #leftMs: number
  /** While time counts. */
  #running: { readonly since: number; readonly cancel: () => void } | undefined
  #isPaused = false
  #giveUp: (error: Error) => void = () => {}

  constructor(limitMs: number) {
    this.#commitMs = limitMs * COMMIT_PART
    this.#leftMs = limitMs
  }

  /**
   * Fails when the time is used up. The work is not cut off: a commit under way may still succeed, and what the request holds in the
   * store is given back in the usual way.
   */
  limit<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#giveUp = reject
    // The work may have begun with a pause, such as the upload of a batch.
    if (!this.#isPaused) this.#start()
    work.then(
      (result) => {
        this.#stop()
        resolve(result)
      },
      (error) => {
        this.#stop()
        reject(error)
      },
    )
    return promise
  }

  /** For a wait that is not for the database. Fails at once when the caller has got its answer. */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    this.#stop()
    if (this.#leftMs <= 0) throw new StoreTooSlow()
    this.#isPaused = true
    try {
      return await work()
    } finally {
      this.#isPaused = false
      this.#start()
    }
  }

  /** During a pause: counts the wait for what must be written before a paid call, and leaves time for the commit of its answer. */
  async beforePaying<T>(work: () => Promise<T>): Promise<T> {
    const since = performance.now()
    const mayTakeMs = this.#leftMs - this.#commitMs
    if (mayTakeMs <= 0) throw new StoreTooSlow()
    const late = Promise.withResolvers<never>()
    let tookMs: number | undefined
    const cancel = afterRunning(mayTakeMs, () => {
      tookMs = mayTakeMs
      late.reject(new StoreTooSlow())
    })
    try {
      return await Promise.race([work(), late.promise])
    } finally {
      cancel()
      this.#leftMs -= tookMs ?? ranMs(since)
    }
  }

  /** Waits for work that the answer does not need, for half of the time that is left. */
  async spare(work: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const leftMs = this.#leftMs - (this.#running ? ranMs(this.#running.since) : 0)
    const cancel = afterRunning(leftMs / 2, resolve)
    await Promise.race([work, promise])
    cancel()
  }

  #start(): void {
    const cancel = afterRunning(this.#leftMs, () => {
      this.#running = undefined
      this.#leftMs = 0
      this.#giveUp(new StoreTooSlow())
    })
    this.#running = { since: performance.now(), cancel }
  }

  #stop(): void {
    if (!this.#running) return
    this.#running.cancel()
    this.#leftMs -= ranMs(this.#running.since)
    this.#running = undefined
  }
}
