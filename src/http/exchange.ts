import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../keys/caller.ts'
import type { Connection } from './connection.ts'
import { toRequestId } from './request-id.ts'

/** What is sent back. Headers are names and values in turn, lower-case. */
export type Reply = {
  readonly status: number
  readonly headers: readonly string[]
  /** All at once, or piece by piece. */
  readonly body: Buffer | string | AsyncIterable<string>
}

export type Params = Readonly<Record<string, string>>

const NONE: Params = Object.freeze({})

/** A request on its way through the house, and what is learnt about it for its log line and its metrics. */
export class Exchange {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  /** Absent where there is no socket. */
  readonly connection: Connection | undefined
  readonly id: string
  readonly path: string
  /** What follows the question mark. */
  readonly search: string
  readonly startedAt = performance.now()
  params: Params = NONE
  /** Name of the operation, or a word for what it is instead. */
  operation = 'unknown'
  caller: Caller | undefined = undefined
  /** Code of the error it was answered with. */
  outcome = 'ok'
  /** Whether it holds a place among the requests under way. */
  inFlight = false
  /** The account of the console that makes this call, for the audit log. Set inside this process, never by a request. */
  readonly person: string | undefined
  /** Headers of the answer that are known before the answer is. */
  readonly responseHeaders: string[]

  constructor(raw: IncomingMessage, response: ServerResponse, connection?: Connection, person?: string) {
    this.person = person
    this.raw = raw
    this.response = response
    this.connection = connection
    this.id = toRequestId(raw.headers['x-request-id'])
    this.responseHeaders = ['x-request-id', this.id]
    const url = raw.url ?? '/'
    const mark = url.indexOf('?')
    this.path = mark === -1 ? url : url.slice(0, mark)
    this.search = mark === -1 ? '' : url.slice(mark + 1)
  }

  get headers(): IncomingMessage['headers'] {
    return this.raw.headers
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** An object as JSON. Whether it may be cached is said by the caller. */
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
