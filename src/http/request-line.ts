import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { AppError } from '../errors.ts'
import { openState, stateOf } from './request-state.ts'

/** Counts a request in, and writes its line and its metrics when it is answered or given up. */
export function addRequestLine(app: FastifyInstance, context: Context): void {
  const { overload, lifecycle } = context
  app.addHook('onRequest', async (request, reply) => {
    const { operation = 'unknown' } = request.routeOptions.config as { operation?: string }
    const state = openState(request, operation)
    reply.header('x-request-id', request.id)
    reply.raw.once('close', () => finishRequest(context, request, reply))
    if (operation === 'health') return
    if (!overload.enter()) throw new AppError('overloaded')
    state.inFlight = true
  })
  // Decided as late as can be: a request that was accepted before the signal to stop ends its connection, too.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (lifecycle.stopping) reply.header('connection', 'close')
    done(null, payload)
  })
}

function finishRequest(
  { log, metrics, overload }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const state = stateOf(request)
  const { operation, caller, startedAt, inFlight } = state
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
  const mode = caller?.mode ?? 'none'
  if (inFlight) overload.leave()
  // A caller that went away, or whose body never came, was told nothing. (A request without a socket has no `complete`.)
  const isAnswered = reply.raw.writableFinished || request.raw.complete === undefined
  const outcome = isAnswered ? state.outcome : 'aborted'
  const status = isAnswered ? reply.statusCode : 0
  metrics.countRequest(operation, mode, outcome, durationMs)
  log.request({
    requestId: request.id,
    operation,
    mode,
    keyId: caller?.keyId ?? '',
    status,
    outcome,
    durationMs,
  })
}
