import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { UnusableKey } from '../keys/authenticate.ts'
import type { Caller } from '../keys/caller.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'
import type { Place } from '../verification/verification-request.ts'
import type { Connection } from './connections.ts'
import type { StoreBudget } from './store-budget.ts'

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
