import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { type CallGuard, SOURCE_WARNINGS } from '../sources/guard/call-guard.ts'
import type { SourceChain } from './source-chain.ts'

/** Metrics that are read when they are scraped: the process, the sources, their spend. */
export function createGauges(
  sourceChain: Pick<SourceChain, 'guards' | 'listSpend'>,
  scrubbedAt?: () => number | undefined,
): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addSources(registry, sourceChain.guards)
  addTroubles(registry, sourceChain.guards)
  addSpend(registry, sourceChain)
  if (scrubbedAt) addScrub(registry, scrubbedAt)
  return registry
}

/** Damage ends the process, so only passes without damage are counted. */
function addScrub(registry: Registry, scrubbedAt: () => number | undefined): void {
  new Gauge({
    name: 'tabbat_scrub_finished_seconds',
    help: 'When the database was last read through without finding damage, in Unix time.',
    registers: [registry],
    collect() {
      const at = scrubbedAt()
      if (at !== undefined) this.set(at / 1000)
    },
  })
}

const STATES = ['closed', 'half_open', 'open', 'disabled'] as const

/** State and health of the sources. */
function addSources(registry: Registry, guards: readonly CallGuard[]): void {
  const registers = [registry]
  const labelNames = ['source', 'operation'] as const
  const gauge = (name: string, help: string, read: (guard: CallGuard) => number | null) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const guard of guards) {
          const value = read(guard)
          if (value !== null) this.set({ source: guard.name, operation: guard.operation }, value)
        }
      },
    })
  gauge(
    'tabbat_source_state',
    `State of a source: ${STATES.map((state, index) => `${index} ${state}`).join(', ')}.`,
    (guard) => STATES.indexOf(guard.read().state),
  )
  gauge('tabbat_source_calls', 'Questions asked since the start.', (guard) => guard.read().calls)
  gauge('tabbat_source_failures', 'Questions that failed since the start.', (guard) => guard.read().failures)
  gauge(
    'tabbat_source_error_rate',
    'Part of the questions of the last five minutes that failed.',
    (guard) => guard.read().errorRate,
  )
  for (const part of ['p50', 'p95', 'p99'] as const)
    gauge(
      `tabbat_source_${part}_seconds`,
      `Time of the questions of the last five minutes, ${part}.`,
      (guard) => {
        const ms = guard.read()[part]
        return ms === null ? null : ms / 1000
      },
    )
  gauge('tabbat_source_last_success_seconds', 'When a question was last answered, in Unix time.', (guard) => {
    const { lastSuccessAt } = guard.read()
    return lastSuccessAt === null ? null : Date.parse(lastSuccessAt) / 1000
  })
}

/** Failures and warnings of each source. The reasons come from closed lists. */
function addTroubles(registry: Registry, guards: readonly CallGuard[]): void {
  const labelNames = ['source', 'operation', 'reason'] as const
  const common = { labelNames, registers: [registry] }
  new Counter({
    ...common,
    name: 'tabbat_source_failures_total',
    help: 'Questions that failed since the start, by reason.',
    collect() {
      this.reset()
      for (const { name: source, operation, failures } of guards)
        for (const [reason, count] of failures()) this.inc({ source, operation, reason }, count)
    },
  })
  new Gauge({
    ...common,
    name: 'tabbat_source_warning',
    help: `1 while a source needs the operator: ${SOURCE_WARNINGS.join(', ')}.`,
    collect() {
      for (const { name: source, operation, read } of guards) {
        const { warnings } = read()
        for (const reason of SOURCE_WARNINGS)
          this.set({ source, operation, reason }, warnings.includes(reason) ? 1 : 0)
      }
    },
  })
}

/** Of all nodes together, from the store. While it is unavailable, the last figure stays. */
function addSpend(
  registry: Registry,
  { guards, listSpend }: Pick<SourceChain, 'guards' | 'listSpend'>,
): void {
  if (guards.length === 0) return
  new Gauge({
    name: 'tabbat_source_spend_today_naira',
    help: 'What the calls of today cost, on all nodes.',
    labelNames: ['source'],
    registers: [registry],
    async collect() {
      const spent = await listSpend().catch(() => [])
      for (const { name, kobo } of spent) this.set({ source: name }, kobo / 100)
    },
  })
}
