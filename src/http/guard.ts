import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { AppError } from '../errors.ts'
import type { Scope } from '../keys/api-key.ts'
import { stateOf } from './request-state.ts'

/** Who is asking and whether they may, decided before the body is read. */
export function createGuard({ authenticate, rateLimit }: Context, scope: Scope) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const caller = await authenticate(request.headers.authorization)
    if (!caller) throw new AppError('unauthenticated')
    stateOf(request).caller = caller
    if (rateLimit) {
      const { allowed, remaining, resetS } = rateLimit.take(caller.keyId)
      reply.header('ratelimit-policy', `"key";q=${rateLimit.limit};w=60`)
      reply.header('ratelimit', `"key";r=${remaining};t=${resetS}`)
      if (!allowed) throw new AppError('rate_limited', { headers: { 'retry-after': String(resetS) } })
    }
    if (!caller.isAddressAllowed(request.ip) || !caller.scopes.has(scope)) throw new AppError('forbidden')
  }
}
