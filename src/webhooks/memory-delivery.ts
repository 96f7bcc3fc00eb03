import type { KeyObject } from 'node:crypto'
import { type NewEvent, toEventBody } from '../contract/event.ts'
import { steadyNow } from '../contract/time.ts'
import type { Post } from '../sources/http.ts'
import { attemptDelivery } from './attempt.ts'
import { toSecrets } from './deliver-one.ts'
import { toRetryDelayMs } from './retry-schedule.ts'
import type { EndpointRow, WebhookTable } from './webhook-table.ts'

type Target = Pick<EndpointRow, 'id' | 'url' | 'secret' | 'previousSecret' | 'previousUntil'>

/** Delivers events about the store itself, without the store. */
type MemoryDelivery = {
  /** Reads which endpoints want such events. While the store is unavailable, those that were last read. */
  readonly refresh: () => Promise<void>
  /** Sends an event now, and repeats it until it is delivered, the attempts end or the process does. */
  readonly send: (event: NewEvent) => void
  readonly close: () => void
}

type MemoryOptions = {
  readonly table: Pick<WebhookTable, 'list'>
  readonly post: Post
  readonly key: KeyObject
  readonly onAttempt: (result: 'delivered' | 'failed') => void
  readonly onError: (error: unknown) => void
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
