import { setTimeout as pause } from 'node:timers/promises'
import { steadyNow } from '../contract/time.ts'
import { createDeliverOne, type DeliveryOptions } from './deliver-one.ts'
import type { DueEndpoint } from './delivery-table.ts'
import { startPoll } from './poll.ts'

/** How often this process looks for deliveries that are due. What it appends itself is found at once: see `wake`. */
const POLL_MS = 1000
/** Deliveries of one endpoint at the same time. One that fails gets one in each poll. */
const LANES = 8
/** At shutdown: how long attempts under way may take. Others are given back. */
const GRACE_MS = 2000

type Delivery = {
  /** Looks for due deliveries now. */
  readonly wake: () => void
  /** Delivers what is due, and resolves when it is done. */
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
  const running = new Set<Promise<void>>()
  const ending = new AbortController()
  let closed = false

  /** Ends after a time, because the endpoint may have been changed meanwhile. */
  const runLane = async (endpoint: DueEndpoint) => {
    const until = performance.now() + POLL_MS
    while (!closed && (await deliverOne(endpoint, ending.signal)) && performance.now() < until);
  }
  const startLane = (endpoint: DueEndpoint) => {
    lanes.set(endpoint.id, (lanes.get(endpoint.id) ?? 0) + 1)
    const lane = runLane(endpoint)
      .catch(onError)
      .finally(() => {
        running.delete(lane)
        lanes.set(endpoint.id, (lanes.get(endpoint.id) ?? 1) - 1)
      })
    running.add(lane)
  }
  const startDue = async () => {
    for (const endpoint of await table.listDue(now())) {
      const most = endpoint.isFailing ? 1 : LANES
      for (let lane = lanes.get(endpoint.id) ?? 0; lane < most && !closed; lane++) startLane(endpoint)
    }
  }
  const poll = startPoll(startDue, POLL_MS)
  return {
    wake: poll.now,
    deliverDue: async () => {
      await startDue()
      while (running.size > 0) await Promise.all(running)
    },
    close: async () => {
      // The last checkpoint of the audit log has just been made.
      await startDue().catch(onError)
      closed = true
      await poll.close()
      const finished = Promise.all(running)
      await Promise.race([finished, pause(GRACE_MS, undefined, { ref: false })])
      ending.abort()
      await finished
    },
  }
}
