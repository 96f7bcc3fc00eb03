import { useState } from 'preact/hooks'
import type { Overview as OverviewShape } from '../../../src/admin/shapes/overview.ts'
import { Chart } from '../components/chart.tsx'
import { Segments } from '../components/field.tsx'
import { LiveState } from '../components/live-state.tsx'
import { BySource, LastErrors, TopKeys } from '../components/overview-tables.tsx'
import { Panel } from '../components/panel.tsx'
import { Empty, LoadError, Loading } from '../components/query-result.tsx'
import { SourcesTable } from '../components/sources-table.tsx'
import { toCount, toMs, toNaira, toPercent } from '../format.ts'
import { toHash } from '../route.ts'
import { findProblems, toSpends } from '../source-health.ts'
import { useOverviewEvents } from '../use-overview-events.ts'

type Mode = OverviewShape['mode']
type Range = OverviewShape['range']

const RANGES: readonly { value: Range; text: string }[] = [
  { value: 'hour', text: 'Hour' },
  { value: 'day', text: 'Day' },
  { value: 'week', text: 'Week' },
  { value: 'month', text: 'Month' },
]
const MODES: readonly { value: Mode; text: string }[] = [
  { value: 'all', text: 'All' },
  { value: 'live', text: 'Live' },
  { value: 'test', text: 'Test' },
]

export function Overview() {
  const [range, setRange] = useState<Range>('day')
  const [mode, setMode] = useState<Mode>('all')
  const live = useOverviewEvents(range, mode)
  const { value, error, reload } = live
  return (
    <>
      <div class="bar">
        <Segments legend="Range" value={range} options={RANGES} onValue={setRange} />
        <Segments legend="Mode" value={mode} options={MODES} onValue={setMode} />
        <LiveState live={live} />
      </div>
      {value && <OverviewBody overview={value} />}
      {!value && error && <LoadError error={error} onRetry={reload} />}
      {!value && !error && <Loading lines={8} />}
    </>
  )
}

function OverviewBody({ overview }: { overview: OverviewShape }) {
  return (
    <>
      <Attention sources={overview.sources} />
      <Tiles overview={overview} />
      <Panel title="Verifications over time">
        <Chart overview={overview} />
      </Panel>
      <Panel title="Sources">
        {overview.sources.length === 0 ? (
          <Empty>
            <p>
              No vendor is configured. Live keys are answered from your own records only. Set{' '}
              <code>TABBAT_NIN_SOURCES</code>, <code>TABBAT_BVN_SOURCES</code> and the{' '}
              <a href={toHash('settings')}>settings</a> of the vendor.
            </p>
          </Empty>
        ) : (
          <SourcesTable sources={overview.sources} />
        )}
      </Panel>
      <div class="halves">
        <TopKeys overview={overview} />
        <BySource overview={overview} />
      </div>
      <LastErrors errors={overview.errors} />
    </>
  )
}

/** Sources that fail, are disabled, or are near their cap. */
function Attention({ sources }: { sources: OverviewShape['sources'] }) {
  const problems = findProblems(sources)
  const [worst] = problems
  if (!worst) return null
  return (
    <section class={`note ${worst.tone}`} aria-label="Sources that need attention">
      <ul>
        {problems.map(({ source, words }) => (
          <li key={`${source} ${words}`}>
            <a href={toHash('sources')}>{source}</a> {words}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Tiles({ overview }: { overview: OverviewShape }) {
  const { totals, success_rate, latency, sources } = overview
  const count = totals.verified + totals.not_verified + totals.failed
  const spent = toSpends(sources).reduce((sum, spend) => sum + spend.spent_kobo_today, 0)
  const tiles: readonly (readonly [string, string, string])[] = [
    ['Verifications', toCount(count), `${toCount(totals.verified)} verified`],
    [
      'Success rate',
      toPercent(success_rate),
      success_rate === null ? 'no verifications' : `${toCount(totals.failed)} failed`,
    ],
    ['Latency p50', toMs(latency?.p50_ms ?? null), 'estimated'],
    ['Latency p95', toMs(latency?.p95_ms ?? null), 'estimated'],
    ['Latency p99', toMs(latency?.p99_ms ?? null), 'estimated'],
    ['Spent today', toNaira(spent), 'Lagos time'],
  ]
  return (
    <dl class="tiles">
      {tiles.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{value}</b>
            <small class="dim">{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  )
}
