import type { KeyObject } from 'node:crypto'
import { steadyNow } from '../contract/time.ts'
import type { Post } from '../sources/http.ts'
import { type AttemptResult, attemptDelivery } from './attempt.ts'
import type { ClaimedDelivery, DeliveryTable, DueEndpoint } from './delivery-table.ts'
import { DISABLE_AFTER_MS, toRetryDelayMs } from './retry-schedule.ts'
import { openSecret } from './signature.ts'
import type { DisabledReason } from './webhook-table.ts'

/** Longer than an attempt and its settlement. A process that dies delays its deliveries by this much. */
const LEASE_MS = 60_000

export type DeliveryOptions = {
  readonly table: DeliveryTable
  readonly post: Post
  readonly key: KeyObject
  /** After each attempt. */
  readonly onAttempt: (result: 'delivered' | 'failed') => void
  /** The last attempt of an event has failed. */
  readonly onGivenUp: (delivery: ClaimedDelivery) => void
  /** An attempt disabled the endpoint. */
  readonly onDisabled: (endpointId: string, reason: DisabledReason) => void
  readonly onError: (error: unknown) => void
  readonly now?: () => number
  /** Receivers compare the time of a request with their own clock, so it follows the clock of the machine, also backwards. */
  readonly wallNow?: () => number
  readonly random?: () => number
}

/** Claims the next delivery of an endpoint and makes an attempt. Resolves to false when there is none, or the attempt failed. */
type DeliverOne = (endpoint: DueEndpoint, signal: AbortSignal) => Promise<boolean>

export function createDeliverOne(options: DeliveryOptions): DeliverOne {
  const { table, post, key, now = steadyNow, wallNow = Date.now } = options
  return async (endpoint, signal) => {
    const [delivery] = await table.claim({ endpointId: endpoint.id, most: 1, leaseMs: LEASE_MS }, now())
    if (!delivery) return false
    const target = { url: endpoint.url, secrets: toSecrets(key, endpoint, now()) }
    const message = { id: delivery.eventId, at: wallNow(), body: delivery.body }
    const result = await attemptDelivery(post, target, message, signal)
    // Broken off by the shutdown, which is not a failure of the receiver.
    if (signal.aborted && result.problem !== undefined) await table.release(delivery, now())
    else await settle(options, delivery, result)
    return result.problem === undefined
  }
}

async function settle(
  { table, onAttempt, onGivenUp, onDisabled, now = steadyNow, random }: DeliveryOptions,
  delivery: ClaimedDelivery,
  { status, durationMs, problem, retryAfterMs }: AttemptResult,
): Promise<void> {
  const { endpointId, eventId, attempt, tries } = delivery
  const retryInMs = toRetryDelayMs(tries, retryAfterMs, random)
  const { disabled } = await table.settle(
    {
      ...{ endpointId, eventId, attempt, status, durationMs, problem, retryInMs },
      ...{ pauseMs: retryAfterMs, isGone: problem === 'gone', disableAfterMs: DISABLE_AFTER_MS },
    },
    now(),
  )
  onAttempt(problem === undefined ? 'delivered' : 'failed')
  if (problem !== undefined && retryInMs === undefined) onGivenUp(delivery)
  if (disabled) onDisabled(endpointId, disabled)
}

type Secrets = Pick<DueEndpoint, 'id' | 'secret' | 'previousSecret' | 'previousUntil'>

/** The secret before the last roll also signs, until its time is over. */
export function toSecrets(key: KeyObject, endpoint: Secrets, now: number): string[] {
  const { id, secret, previousSecret, previousUntil = 0 } = endpoint
  const sealed = previousSecret && previousUntil > now ? [secret, previousSecret] : [secret]
  return sealed.map((each) => openSecret(key, id, each))
}
