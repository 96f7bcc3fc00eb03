import type { FastifyRequest } from 'fastify'
import type { Caller } from '../keys/authenticate.ts'

/** What the hooks learn about a request on its way, for its log line and its metrics. */
export type RequestState = {
  readonly startedAt: number
  /** Name of the operation, or a word for what it is instead. */
  operation: string
  caller: Caller | undefined
  /** Code of the error it was answered with. */
  outcome: string
  inFlight: boolean
}

const states = new WeakMap<object, RequestState>()

export function openState(request: FastifyRequest, operation: string): RequestState {
  const state = { startedAt: performance.now(), operation, caller: undefined, outcome: 'ok', inFlight: false }
  states.set(request, state)
  return state
}

export const stateOf = (request: FastifyRequest): RequestState =>
  states.get(request) ?? openState(request, 'unknown')
