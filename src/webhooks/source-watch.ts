import { createEvent, type EventData, type NewEvent } from '../contract/event.ts'
import { steadyNow, toLagosDate, toLagosDay } from '../contract/time.ts'
import type { EventTable } from '../ledger/event-table.ts'
import type { GuardFigures } from '../sources/guard/call-guard.ts'
import { LASTING_WARNINGS } from '../sources/guard/call-record.ts'
import { type Prices, STATE_LIFE_MS } from '../sources/guard/shared-state.ts'
import type { PublishedState, SourceTable } from '../sources/source-table.ts'

type WatchOptions = {
  readonly events: EventTable
  readonly sources: SourceTable
  readonly prices: Prices
  /** The share of a daily cap, in percent, from which it is told; off: never. */
  readonly spendAlert: number | 'off'
  readonly announce: (event: NewEvent) => void
  readonly now?: () => number
}

/**
 * Compares the published states of the sources with what was last told, and tells the difference: source.down, source.up,
 * spend.near_cap. A source is down while it is on any node. Of several nodes that see a change, one tells it.
 *
 * What was told is read first. A node publishes its state before it tells, so the states read afterwards are as new.
 */
export function createSourceWatch(options: WatchOptions): () => Promise<void> {
  const { events, sources, prices, spendAlert, announce, now = steadyNow } = options
  const tell = async (change: { name: string; from: string; to: string }, event: NewEvent) => {
    if (await events.change(change, event)) announce(event)
  }
  const tellSources = async (told: ReadonlyMap<string, string>, at: number) => {
    const states = await sources.listStates(at - STATE_LIFE_MS)
    for (const [name, published] of Map.groupBy(states, toName)) {
      const reason = findReason(published)
      const [from, to] = [told.get(name) ?? '', reason === undefined ? '' : 'down']
      const isKnown = !published.every(({ state }) => readFigures(state).state === 'disabled')
      if (from !== to && isKnown) await tell({ name, from, to }, toSourceEvent(name, at, reason))
    }
  }
  const tellSpend = async (told: ReadonlyMap<string, string>, at: number, share: number) => {
    const day = toLagosDate(at)
    for (const { name: source, kobo } of await sources.listSpend(toLagosDay(at))) {
      const cap = prices[source]?.dailyCap
      if (cap === undefined || cap === 0 || kobo * 100 < cap * share) continue
      const [name, to] = [`spend:${source}`, `${day} ${share}`]
      const from = told.get(name) ?? ''
      if (from !== to) await tell({ name, from, to }, toSpendEvent(source, at, { day, kobo, cap }))
    }
  }
  return async () => {
    const at = now()
    const told = new Map((await events.listStates()).map(({ name, state }) => [name, state]))
    await tellSources(told, at)
    if (spendAlert !== 'off') await tellSpend(told, at, spendAlert)
  }
}

const toName = ({ name, operation }: PublishedState) => `source:${name}:${operation}`

const readFigures = (text: string) => JSON.parse(text) as GuardFigures

/** Undefined when the source works on every node. A problem that the operator must fix is named first. */
function findReason(published: readonly PublishedState[]): string | undefined {
  const figures = published.map(({ state }) => readFigures(state)).filter(({ state }) => state !== 'disabled')
  const warning = LASTING_WARNINGS.find((reason) => figures.some(({ warnings }) => warnings.includes(reason)))
  if (warning) return warning
  const down = figures.filter((each) => each.down)
  if (down.length === 0) return undefined
  return down.some(({ state }) => state !== 'closed') ? 'breaker_open' : 'failing'
}

const toOperatorEvent = (type: NewEvent['type'], at: number, reference: string, data: EventData) =>
  createEvent({ type, at, keyId: '', reference, data: { reference, ...data } })

function toSourceEvent(name: string, at: number, reason: string | undefined): NewEvent {
  const [, source = '', operation = ''] = name.split(':')
  return reason === undefined
    ? toOperatorEvent('source.up', at, name, { status: 'up', source, operation })
    : toOperatorEvent('source.down', at, name, { status: 'down', source, operation, reason })
}

const toSpendEvent = (
  source: string,
  at: number,
  { day, kobo, cap }: { day: string; kobo: number; cap: number },
) =>
  toOperatorEvent('spend.near_cap', at, `spend:${source}`, {
    status: 'near_cap',
    source,
    day,
    spent_naira: kobo / 100,
    cap_naira: cap / 100,
  })
