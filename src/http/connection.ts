import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

export type Connection = {
  readonly socket: Socket
  readonly openedAt: number
  /** Requests that were read and whose answers are not sent yet. */
  underWay: number
  /** The request that was read last. */
  latest: IncomingMessage | undefined
  /** A request whose body had not arrived when that was looked at first, when that was, and how much was read by then. */
  slow: { readonly message: IncomingMessage; readonly since: number; readonly bytes: number } | undefined
  isKnown: boolean
  /** See paused.ts. */
  hasSeat: boolean
  /** A valid key was presented on it: it is the last to be closed for lack of room. */
  readonly know: () => void
  /** Done once when all answers are sent. */
  whenIdle: (() => void) | undefined
}

export type ConnectionLimits = {
  readonly most: number
  /** Connections of one address on which no valid key was presented. */
  readonly strangersPerAddress: number
  /** Proxies bring the connections of many. */
  readonly isProxy: (address: string) => boolean
  /** A connection on which nothing moves for so long is closed, unless the answer is still being made. */
  readonly stalledMs: number
}
