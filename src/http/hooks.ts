import type { ErrorCode } from '../errors.ts'
import type { Connection } from './connection.ts'
import type { Exchange, Reply } from './exchange.ts'
import type { Route } from './router.ts'

/** What a listener does with every request besides routing it. */
export type Hooks = {
  /** Runs first. What it throws becomes the response. */
  readonly onRequest?: (exchange: Exchange) => void
  /** Runs with the first bytes of a request, before they are parsed. */
  readonly onRead?: (connection: Connection, bytes: Buffer) => void
  /** Runs when the route is known, before the body is read. */
  readonly authorize?: (exchange: Exchange, route: Route) => undefined | Promise<void>
  /** The only place where a failure becomes a response. */
  readonly toErrorReply: (exchange: Exchange, thrown: unknown) => Reply
  /** Runs when the work is done, before the response is sent. */
  readonly onWorkDone?: (exchange: Exchange) => void
  /** Runs when the response is sent, or the caller has closed the connection. */
  readonly onClose?: (exchange: Exchange) => void
  /** Runs when bytes that never became a request were answered with this error. */
  readonly onBrokenRequest?: (requestId: string, code: ErrorCode) => void
  /** Whether the server stops. Connections are closed after their last response then. */
  readonly isStopping: () => boolean
}
