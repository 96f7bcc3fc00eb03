import type { Overview as OverviewShape } from '../../../../src/admin/overview-figures.ts'
import { Segments } from '../../components/field.tsx'
import { LiveState } from '../../components/live-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, LoadError, Loading } from '../../components/query-result.tsx'
import { SourcesTable } from '../../components/sources-table.tsx'
import { toHash } from '../../hash.ts'
import { MODES, type OverviewFilters, readOverviewFilters } from '../../overview-filters.ts'
import { useFilters } from '../../route.ts'
import { findProblems } from '../../source-health.ts'
import { useOverviewEvents } from '../../use-overview-events.ts'
import { OverviewCharts } from './overview-charts.tsx'
import { BySource, LastErrors, TopKeys } from './overview-tables.tsx'
import { OverviewTiles } from './overview-tiles.tsx'
import { RangePicker } from './range-picker.tsx'

export function Overview() {
  const [address, change] = useFilters()
  const filters = readOverviewFilters(address)
  const live = useOverviewEvents(filters)
  const { value, error, reload } = live
  return (
    <>
      <div class="bar">
        <RangePicker filters={filters} onChange={change} />
        <Segments
          legend="Mode"
          value={filters.mode}
          options={MODES}
          onValue={(mode) => change({ mode: mode === 'live' ? undefined : mode })}
        />
        <LiveState live={live} />
      </div>
      {value && <OverviewBody overview={value} filters={filters} />}
      {!value && error && <LoadError error={error} onRetry={reload} />}
      {!value && !error && <Loading lines={8} />}
    </>
  )
}

function OverviewBody({ overview, filters }: { overview: OverviewShape; filters: OverviewFilters }) {
  return (
    <>
      <Attention sources={overview.sources} />
      <OverviewTiles overview={overview} />
      <OverviewCharts overview={overview} filters={filters} />
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
