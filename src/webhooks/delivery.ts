import type { KeyObject } from 'node:crypto'
import { type NewEvent, toEventBody } from '../contract/event.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Post } from '../sources/http.ts'
import { type AttemptResult, attemptDelivery, openSecret } from './attempt.ts'
import type { ClaimedDelivery, DeliveryTable, DueEndpoint } from './delivery-table.ts'
import type { DisabledReason, EndpointRow, WebhookTable } from './webhook-table.ts'

/** How often this process looks for deliveries that are due. What it appends itself is found at once: see `wake`. */
const POLL_MS = 1000
/** Deliveries of one endpoint at the same time. One that fails gets one, and rests for POLL_MS after it. */
const LANES = 8
/** At shutdown: for how long what is due is still delivered. Attempts that take longer are broken off and given back. */
const GRACE_MS = 2000

type DeliveryOptions = {
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

type Delivery = {
  /** Looks for due deliveries now. */
  readonly wake: () => void
  /** Delivers what is due, also to endpoints that have just failed, and resolves when it is done. */
  readonly deliverDue: () => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Delivers the events of all endpoints. Several processes share the work through the store. Each endpoint has lanes of its own, so
 * that a slow receiver delays no other one, and many events of one endpoint delay those of no other.
 */
export function startDelivery(options: DeliveryOptions): Delivery {
  const { table, onError, now = steadyNow } = options
  const deliverOne = createDeliverOne(options)
  const lanes = new Map<string, number>()
  const countLanes = (endpointId: string) => lanes.get(endpointId) ?? 0
  /** Endpoints that failed a moment ago, or fail and had nothing to send. New events, which wake this up, start no lane of theirs. */
  const resting = new Map<string, NodeJS.Timeout>()
  const running = new Set<Promise<void>>()
  const ending = new AbortController()
  let isClosing = false

  const endRest = (endpointId: string) => {
    if (!resting.has(endpointId)) return
    clearTimeout(resting.get(endpointId))
    resting.delete(endpointId)
    poll.now()
  }
  const startRest = (endpointId: string) => {
    clearTimeout(resting.get(endpointId))
    resting.set(endpointId, setTimeout(endRest, POLL_MS, endpointId).unref())
  }
  /** Ends after a time, because the endpoint may have been changed meanwhile. */
  const runLane = async (endpoint: DueEndpoint) => {
    const until = performance.now() + POLL_MS
    const mayGoOn = () => !ending.signal.aborted && (isClosing || performance.now() < until)
    let { isFailing } = endpoint
    let result: Attempted
    do {
      result = await deliverOne(endpoint, ending.signal)
      // A look is not cheap if many events wait for an earlier one.
      if (result === 'failed' || (result === 'none' && isFailing)) startRest(endpoint.id)
      if (result === 'delivered') {
        isFailing = false
        endRest(endpoint.id)
      }
    } while (result === 'delivered' && mayGoOn())
  }
  const startLane = (endpoint: DueEndpoint) => {
    lanes.set(endpoint.id, countLanes(endpoint.id) + 1)
    const lane = runLane(endpoint)
      .catch(onError)
      .finally(() => {
        running.delete(lane)
        lanes.set(endpoint.id, countLanes(endpoint.id) - 1)
      })
    running.add(lane)
  }
  const startDue = async (mayStart: (endpointId: string) => boolean) => {
    for (const endpoint of await table.listDue(now())) {
      if (!mayStart(endpoint.id)) continue
      const most = endpoint.isFailing ? 1 : LANES
      for (let lane = countLanes(endpoint.id); lane < most && !ending.signal.aborted; lane++)
        startLane(endpoint)
    }
  }
  const deliverDue = async () => {
    await startDue(() => true)
    while (running.size > 0) await Promise.all(running)
  }
  const poll = startPoll(() => startDue((endpointId) => !resting.has(endpointId)), POLL_MS)
  return {
    wake: poll.now,
    deliverDue,
    close: async () => {
      isClosing = true
      await poll.close()
      const grace = setTimeout(() => ending.abort(), GRACE_MS)
      // The last checkpoint of the audit log has just been made. It follows the one before, which may be under way.
      await deliverDue().catch(onError)
      clearTimeout(grace)
      await Promise.all(running)
    },
  }
}

/** The waits after each failed attempt; after the last one the delivery has failed. */
const DELAYS_MS = [
  5000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const

/** The random part of a wait, so that many deliveries that failed together are not repeated together. */
const JITTER = 0.1

/** A longer Retry-After is cut to this. */
export const MAX_RETRY_AFTER_MS = DAY_MS

/** An endpoint that fails for this long is disabled. */
const DISABLE_AFTER_MS = 5 * DAY_MS

/** The wait after a failure that `tries` others preceded; undefined when there is no further attempt. */
function toRetryDelayMs(
  tries: number,
  retryAfterMs = 0,
  random: () => number = Math.random,
): number | undefined {
  const delay = DELAYS_MS[tries]
  if (delay === undefined) return undefined
  return Math.round(Math.max(delay * (1 - JITTER + 2 * JITTER * random()), retryAfterMs))
}

/** Longer than an attempt and its settlement. A process that dies delays its deliveries by this much. */
const LEASE_MS = 60_000

/** `none`: nothing was due. */
type Attempted = 'delivered' | 'failed' | 'none'

/** Claims the next delivery of an endpoint and makes an attempt. */
type DeliverOne = (endpoint: DueEndpoint, signal: AbortSignal) => Promise<Attempted>

function createDeliverOne(options: DeliveryOptions): DeliverOne {
  const { table, post, key, now = steadyNow, wallNow = Date.now } = options
  return async (endpoint, signal) => {
    const [delivery] = await table.claim({ endpointId: endpoint.id, most: 1, leaseMs: LEASE_MS }, now())
    if (!delivery) return 'none'
    const target = { url: endpoint.url, secrets: toSecrets(key, endpoint, now()) }
    const message = { id: delivery.eventId, at: wallNow(), body: delivery.body }
    const result = await attemptDelivery(post, target, message, signal)
    // Broken off by the shutdown, which is not a failure of the receiver.
    if (signal.aborted && result.problem !== undefined) await table.release(delivery, now())
    else await settle(options, delivery, result)
    return result.problem === undefined ? 'delivered' : 'failed'
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
      endpointId,
      eventId,
      attempt,
      status,
      durationMs,
      problem,
      retryInMs,
      pauseMs: retryAfterMs,
      isGone: problem === 'gone',
      disableAfterMs: DISABLE_AFTER_MS,
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

type Target = Secrets & Pick<EndpointRow, 'url'>

/** Delivers events about the store itself, without the store. */
type MemoryDelivery = {
  /** Reads which endpoints want such events. While the store is unavailable, those that were last read. */
  readonly refresh: () => Promise<void>
  /** Sends an event now, and repeats it until it is delivered, the attempts end or the process does. */
  readonly send: (event: NewEvent) => void
  readonly close: () => void
}

type MemoryOptions = Pick<DeliveryOptions, 'post' | 'key' | 'onAttempt' | 'onError'> & {
  readonly table: Pick<WebhookTable, 'list'>
}

export function createMemoryDelivery(options: MemoryOptions): MemoryDelivery {
  const { table, post, key, onAttempt, onError } = options
  let targets: readonly Target[] = []
  const timers = new Set<NodeJS.Timeout>()
  const ending = new AbortController()

  const attempt = async (target: Target, event: NewEvent, tries: number): Promise<void> => {
    const message = { id: event.id, at: Date.now(), body: toEventBody(event) }
    const secrets = toSecrets(key, target, steadyNow())
    const { problem, retryAfterMs } = await attemptDelivery(
      post,
      { url: target.url, secrets },
      message,
      ending.signal,
    )
    if (ending.signal.aborted) return
    onAttempt(problem === undefined ? 'delivered' : 'failed')
    const delayMs =
      problem === undefined || problem === 'gone' ? undefined : toRetryDelayMs(tries, retryAfterMs)
    if (delayMs === undefined) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      attempt(target, event, tries + 1).catch(onError)
    }, delayMs).unref()
    timers.add(timer)
  }
  return {
    refresh: async () => {
      targets = (await table.list()).filter(
        ({ events, disabledAt }) => disabledAt === undefined && events.includes('audit.unavailable'),
      )
    },
    send: (event) => {
      for (const target of targets) attempt(target, event, 0).catch(onError)
    },
    close: () => {
      ending.abort()
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** Repeated work that never runs twice at the same time. */
type Poll = {
  /** Runs it now, or once more when it is running. */
  readonly now: () => void
  /** Waits for the run under way. */
  readonly close: () => Promise<void>
}

/** Runs the work again `everyMs` after each run, until it is closed. A failed run is followed by the next. */
export function startPoll(work: () => Promise<void>, everyMs: number): Poll {
  let running: Promise<void> | undefined
  let isWanted = false
  let closed = false
  let timer: NodeJS.Timeout | undefined
  const schedule = () => {
    running = undefined
    if (closed) return
    if (isWanted) run()
    else timer = setTimeout(run, everyMs).unref()
  }
  const run = () => {
    clearTimeout(timer)
    isWanted = running !== undefined
    // Store unavailable; reported elsewhere.
    running ??= work()
      .catch(() => {})
      .finally(schedule)
  }
  timer = setTimeout(run, everyMs).unref()
  return {
    now: () => {
      if (!closed) run()
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      await running
    },
  }
}
