import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Reading } from './read-in-turns.ts'

export type Connection = {
  readonly socket: Socket
  readonly openedAt: number
  /** Requests that were read and whose responses are not sent yet. */
  pending: number
  /** The request that was read last. */
  latest: IncomingMessage | undefined
  /** A request whose body was incomplete at a check: when that was first seen, and how much was read by then. */
  slow: { readonly message: IncomingMessage; readonly since: number; readonly bytes: number } | undefined
  /** A request whose body was not read any further at a check: its time limit is that of `slow`, which begins anew then. */
  held: IncomingMessage | undefined
  /** Bytes that the caller had not taken at a check: when that was first seen, and how many it had taken by then. */
  unread: { readonly since: number; readonly taken: number } | undefined
  /** The bytes that were read when it became idle. More: a part of a request has arrived. */
  readWhenIdle: number
  reading: Reading | undefined
  /** See paused-connections.ts. */
  isPaused: boolean
  /** It was paused and is read again: its next request is not held. */
  hasTurn: boolean
  /** Who was authenticated on it last, and by which header. */
  caller: ConnectionCaller | undefined
  /** A valid key was presented on it: it is the last to be closed for lack of room. */
  isAuthenticated: boolean
  readonly markAuthenticated: (caller: ConnectionCaller) => void
  /** See admission-queue.ts. */
  hasReservation: boolean
  /** The account of the console whose requests arrive on it. Set inside this process, never by a request. */
  account: string | undefined
  /** Called once when all responses are sent. */
  whenIdle: (() => void) | undefined
}

type ConnectionCaller = { readonly lineage: string; readonly authorization: string }

/** The caller has read all that was sent, and waits for a response. */
export const isResponseDue = ({ pending, socket }: Connection) => pending > 0 && socket.writableLength === 0

export type ConnectionLimits = {
  readonly max: number
  /** Connections of one address on which no valid key was presented. */
  readonly unauthenticatedPerAddress: number
  /** A proxy opens the connections of many callers. */
  readonly isProxy: (address: string) => boolean
  /** A connection without traffic for so long is closed, unless its response is still being made. */
  readonly stalledMs: number
}
