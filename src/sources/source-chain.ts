import type { Mode } from '../contract/scope.ts'
import type { Kind } from '../crypto/mac.ts'
import type { SourceCalls } from '../statistics/counters.ts'
import type { Log } from '../telemetry/log.ts'
import { type Metric, toCounter, toGauge, toSample } from '../telemetry/metric.ts'
import {
  type CallGuard,
  createCallGuard,
  createCooldown,
  type GuardEvent,
  type GuardFigures,
  SOURCE_WARNINGS,
} from './guard/call-guard.ts'
import { type Connections, createConnections } from './guard/connections.ts'
import { createSharedState } from './guard/shared-state.ts'
import { createReload, type OpenedSources, openSources, type SourceReload } from './open-sources.ts'
import { createSandboxSource } from './sandbox/index.ts'
import type { SourceName, SourceSettings } from './settings.ts'
import type { Source } from './source.ts'
import type { SourceOrderTable } from './source-order.ts'
import { toCallOrder } from './source-order.ts'
import type { SourceTable, Spent } from './source-table.ts'
import { createSpendLeases, type Prices, priceOf, type SpendLeases, toPrices } from './spend-leases.ts'
import type { SpendTable } from './spend-table.ts'
import type { OperationName } from './vendor-file/schema.ts'

/** The sources in the order of asking. A test key never reaches a live source, nor a live key the sandbox. */
export type Sources = { readonly [M in Mode]: { readonly [K in Kind]: readonly GuardedSource[] } }

/** A source with the guard of its calls. Sources inside this process need no guard. */
export type GuardedSource = { readonly source: Source; readonly guard?: CallGuard }

/** All sources in the order of asking, each external one with its guard. */
export type SourceChain = {
  readonly sources: Sources
  readonly guards: readonly CallGuard[]
  /** Pays for the calls. */
  readonly leases: SpendLeases
  /** The connections to each vendor. */
  readonly connections: ReadonlyMap<string, Connections>
  /** When the kill switches were last read, on the monotonic clock. */
  readonly learntAt: () => number
  readonly listSpend: () => Promise<Spent[]>
  readonly prices: Prices
  /** One line for each operation that a named source cannot serve. */
  readonly warnings: readonly string[]
  readonly deleteExpired: () => Promise<void>
  readonly close: () => Promise<void>
} & SourceReload

type ChainDeps = {
  /** The operator's own records. */
  readonly registry: Source
  readonly table: SourceTable
  readonly spend: SpendTable
  readonly orders: Pick<SourceOrderTable, 'list'>
  /** The process, as in the table of nodes. */
  readonly node: string
  /** Gets an event when the breaker of a source changes or a source needs the operator. */
  readonly log: Pick<Log, 'event'>
  /** Statistics of the calls to vendors. */
  readonly calls: Pick<SourceCalls, 'count'>
}

export async function openSourceChain(config: SourceSettings, deps: ChainDeps): Promise<SourceChain> {
  const opened = await openSources(config, deps)
  const prices = toPrices(config)
  const leases = createSpendLeases(deps.spend, prices, deps.node)
  const sharedState = createSharedState({ ...deps, leases })
  const guards: CallGuard[] = []
  const connections = new Map(
    [...opened].flatMap(([name, { isExternal }]) =>
      isExternal ? [[name, createConnections(toConnections(config, name))] as const] : [],
    ),
  )
  const cooldowns = new Map([...opened.keys()].map((name) => [name, createCooldown()]))
  const toChain = (kind: Kind, order: readonly SourceName[]): GuardedSource[] =>
    order.map((name) => {
      const source = opened.get(name) as Source
      if (!source.isExternal) return { source }
      const operation = `verify_${kind}`
      const onEvent = ({ event, ...rest }: GuardEvent) =>
        deps.log.event('warn', event, { source: name, operation, ...rest })
      const guard = createCallGuard(name, operation, sharedState, {
        cooldown: cooldowns.get(name) ?? createCooldown(),
        connections: connections.get(name) ?? createConnections(1),
        onEvent,
        onCall: ({ result, ms, isPaid }) => {
          const kobo = isPaid ? priceOf(prices[name], kind) : 0
          deps.calls.count({ source: name, operation, result, ms, kobo })
        },
      })
      guards.push(guard)
      return { source, guard }
    })
  const sandbox = [{ source: createSandboxSource() }]
  const sources: Sources = {
    test: { nin: sandbox, bvn: sandbox },
    live: toOrderedChains(
      { nin: toChain('nin', config.ninSources), bvn: toChain('bvn', config.bvnSources) },
      sharedState.order,
    ),
  }
  await sharedState.watch(guards)
  return {
    sources,
    guards,
    leases,
    connections,
    warnings: listWarnings(config, opened),
    learntAt: sharedState.learntAt,
    listSpend: sharedState.listSpend,
    prices,
    ...createReload(config, opened, deps.log),
    deleteExpired: sharedState.deleteExpired,
    close: async () => {
      await sharedState.close()
      await leases.close().catch(() => {})
      for (const source of opened.values()) await source.close?.()
    },
  }
}

/** The order can change while the server runs; it is applied when it was read anew. */
function toOrderedChains(
  chains: Sources['live'],
  readOrder: (kind: Kind) => readonly string[] | undefined,
): Sources['live'] {
  const toReader = (kind: Kind) => {
    let order: readonly string[] | undefined
    let ordered = chains[kind]
    return () => {
      const latest = readOrder(kind)
      if (latest !== order) {
        order = latest
        ordered = toCallOrder(chains[kind], latest, ({ source }) => source.name)
      }
      return ordered
    }
  }
  const [readNin, readBvn] = [toReader('nin'), toReader('bvn')]
  return {
    get nin() {
      return readNin()
    },
    get bvn() {
      return readBvn()
    },
  }
}

const toConnections = ({ vendors }: SourceSettings, name: SourceName): number =>
  name === 'registry' ? 0 : (vendors[name] as { readonly connections: number }).connections

const NUMBERS: Readonly<Record<OperationName, string>> = {
  nin: 'NIN',
  virtual_nin: 'virtual NIN',
  bvn: 'BVN',
}

function listWarnings(config: SourceSettings, opened: OpenedSources): string[] {
  const toWarning = (name: SourceName, operation: OperationName): string[] => {
    const needed = opened.get(name)?.needsDetails?.[operation] ?? []
    if (needed.length === 0) return []
    return [
      `${name} is passed over for a ${NUMBERS[operation]} without ${needed.join(' and ')}: see docs/sources.md.`,
    ]
  }
  /** One warning is enough if both need the same. */
  const hasOwnNeeds = (name: SourceName): boolean => {
    const { acceptsVirtualNin, needsDetails } = opened.get(name) ?? {}
    return acceptsVirtualNin === true && String(needsDetails?.virtual_nin) !== String(needsDetails?.nin)
  }
  return [
    ...config.ninSources.flatMap((name) => toWarning(name, 'nin')),
    ...config.ninSources.filter(hasOwnNeeds).flatMap((name) => toWarning(name, 'virtual_nin')),
    ...config.bvnSources.flatMap((name) => toWarning(name, 'bvn')),
  ]
}

const STATES = ['closed', 'half_open', 'open', 'disabled'] as const

/** State, calls, failures and times of each source, as this process sees it. */
export function toSourceMetrics({
  guards,
  connections,
}: Pick<SourceChain, 'guards' | 'connections'>): Metric[] {
  if (guards.length === 0) return []
  const figures = guards.map(({ name: source, operation, read, failures }) => ({
    labels: { source, operation },
    figures: read(),
    failures: failures(),
  }))
  type Figures = (typeof figures)[number]['figures']
  const gauge = (name: string, help: string, read: (each: Figures) => number | null) =>
    toGauge(
      `tabbat_source_${name}`,
      help,
      figures.flatMap(({ labels, figures: each }) => {
        const value = read(each)
        return value === null ? [] : [toSample(labels, value)]
      }),
    )
  const times = (['p50', 'p95', 'p99'] as const).map((part) =>
    gauge(
      `call_duration_${part}_seconds`,
      `Time of the calls of the last five minutes, ${part}.`,
      ({ [part]: ms }) => (ms === null ? null : ms / 1000),
    ),
  )
  return [
    gauge(
      'state',
      `State of a source: ${STATES.map((state, index) => `${index} ${state}`).join(', ')}.`,
      ({ state }) => STATES.indexOf(state),
    ),
    gauge(
      'down',
      '1 while requests get no answer from a source: its breaker is not closed, or half of them failed in five minutes.',
      ({ down }) => Number(down),
    ),
    toRequestsMetric(figures),
    toCounter(
      'tabbat_source_calls_total',
      'Calls since the start.',
      figures.map(({ labels, figures: { calls } }) => toSample(labels, calls)),
    ),
    gauge(
      'error_ratio',
      'Part of the calls of the last five minutes that failed.',
      ({ errorRate }) => errorRate,
    ),
    ...times,
    gauge(
      'last_success_timestamp_seconds',
      'When a call was last answered, in Unix time.',
      ({ lastSuccessAt }) => (lastSuccessAt === null ? null : Date.parse(lastSuccessAt) / 1000),
    ),
    toCounter(
      'tabbat_source_failures_total',
      'Calls that failed since the start, by reason.',
      figures.flatMap(({ labels, failures }) =>
        [...failures].map(([reason, count]) => toSample({ ...labels, reason }, count)),
      ),
    ),
    toWarningsMetric(figures),
    ...toConnectionMetrics(connections),
  ]
}

function toConnectionMetrics(connections: SourceChain['connections']): Metric[] {
  const read = [...connections].map(([source, each]) => ({ source, ...each.read() }))
  return [
    toGauge(
      'tabbat_source_calls_in_flight',
      'Calls to a vendor that are under way.',
      read.map(({ source, inUse }) => toSample({ source }, inUse)),
    ),
    toGauge(
      'tabbat_source_callers_waiting',
      'Requests that wait because all connections to a vendor are in use (TABBAT_<VENDOR>_CONNECTIONS).',
      read.map(({ source, waiting }) => toSample({ source }, waiting)),
    ),
  ]
}

type Labelled = {
  readonly labels: { readonly source: string; readonly operation: string }
  readonly figures: GuardFigures
}

const toWarningsMetric = (labelled: readonly Labelled[]): Metric =>
  toGauge(
    'tabbat_source_warning',
    `1 while a source needs the operator: ${SOURCE_WARNINGS.join(', ')}.`,
    labelled.flatMap(({ labels, figures: { warnings } }) =>
      SOURCE_WARNINGS.map((reason) => toSample({ ...labels, reason }, warnings.includes(reason) ? 1 : 0)),
    ),
  )

const toRequestsMetric = (labelled: readonly Labelled[]): Metric =>
  toCounter(
    'tabbat_source_requests_total',
    'Requests that needed a source since the start, by result: answered, unusable (perhaps about one person only), failed, or skipped because it failed before or asked for a pause.',
    labelled.flatMap(({ labels, figures: { calls, failures, sourceFailures: failed, skipped } }) =>
      Object.entries({
        answered: calls - failures,
        unusable: failures - failed,
        failed,
        skipped,
      }).map(([result, count]) => toSample({ ...labels, result }, count)),
    ),
  )

/** The spend of all nodes, from the store. While the store is unavailable, the last figures are repeated. */
export function createSpendMetric({
  guards,
  listSpend,
  prices,
}: Pick<SourceChain, 'guards' | 'listSpend' | 'prices'>): () => Promise<Metric[]> {
  if (guards.length === 0) return async () => []
  const caps = [...new Set(guards.map(({ name }) => name))].flatMap((source) => {
    const kobo = prices[source]?.dailyCap
    return kobo === undefined ? [] : [toSample({ source }, kobo / 100)]
  })
  let spend: Awaited<ReturnType<typeof listSpend>> = []
  return async () => {
    spend = await listSpend().catch(() => spend)
    const samples = spend.map(({ name, kobo }) => toSample({ source: name }, kobo / 100))
    return [
      toGauge('tabbat_source_spend_today_naira', 'Cost of the calls of today, on all nodes.', samples),
      toGauge('tabbat_source_spend_cap_naira', 'The most that the calls of a day may cost.', caps),
    ]
  }
}
