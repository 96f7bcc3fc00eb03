import { useState } from 'preact/hooks'
import type { Overview as OverviewShape } from '../../../../src/admin/overview-figures.ts'
import { Segments, TextField } from '../../components/field.tsx'
import { lazy } from '../../components/lazy.tsx'
import { LiveState } from '../../components/live-state.tsx'
import { KeyLink, Reference, SourceLink } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill, toOutcomeTone } from '../../components/pill.tsx'
import { Empty, LoadError, Loading } from '../../components/query-result.tsx'
import { SourcesTable } from '../../components/sources-table.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toOperation, toWords } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { type FilterChanges, useFilters } from '../../route.ts'
import { findProblems } from '../../source-health.ts'
import {
  MODES,
  type OverviewFilters,
  readOverviewFilters,
  useOverviewEvents,
} from '../../use-overview-events.ts'
import { Causes, OverviewTiles, RequestChart, VerificationChart } from './overview-answers.tsx'

const LatencyChart = lazy(async () => (await import('./overview-charts.tsx')).LatencyChart)
const LoadedChart = lazy(async () => (await import('./overview-charts.tsx')).LoadedChart)

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
      <Causes overview={overview} />
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

const CHARTS = [
  { value: 'requests', text: 'Requests' },
  { value: 'verifications', text: 'Verifications' },
  { value: 'latency', text: 'Latency' },
  { value: 'vendors', text: 'Vendors' },
  { value: 'keys', text: 'Keys' },
] as const

/** The chart that the address names. */
function OverviewCharts({ overview, filters }: { overview: OverviewShape; filters: OverviewFilters }) {
  const [address, change] = useFilters()
  const chosen = CHARTS.find(({ value }) => value === address.get('chart'))?.value ?? 'requests'
  return (
    <Panel
      title="Over time"
      aside={
        <Segments
          legend="Chart"
          value={chosen}
          options={CHARTS}
          onValue={(chart) => change({ chart: chart === 'requests' ? undefined : chart })}
        />
      }
    >
      {chosen === 'requests' && <RequestChart overview={overview} />}
      {chosen === 'verifications' && <VerificationChart overview={overview} />}
      {chosen === 'latency' && <LatencyChart overview={overview} />}
      {(chosen === 'vendors' || chosen === 'keys') && <LoadedChart chosen={chosen} filters={filters} />}
    </Panel>
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
            <SourceLink name={source} /> {words}
          </li>
        ))}
      </ul>
    </section>
  )
}

function TopKeys({ overview: { keys } }: { overview: OverviewShape }) {
  return (
    <Panel title="Top keys">
      {keys.length === 0 ? (
        <Empty>
          <p>
            No key was used in this period. <a href={toHash('keys')}>Create one</a> or{' '}
            <a href={toHash('try')}>try a verification</a>.
          </p>
        </Empty>
      ) : (
        <Table
          label="Keys by verifications"
          file="top-keys"
          rows={keys}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Key',
              cell: ({ name, id }) => <KeyLink id={id} name={name} />,
              exported: { Key: ({ name }) => name, 'Key id': ({ id }) => id },
            },
            {
              title: 'Mode',
              cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>,
            },
            {
              title: 'Verifications',
              cell: ({ verifications }) => toCount(verifications),
              isNumber: true,
            },
            { title: 'Failed', cell: ({ failed }) => toCount(failed), isNumber: true },
          ]}
        />
      )}
    </Panel>
  )
}

function BySource({ overview: { by_source } }: { overview: OverviewShape }) {
  return (
    <Panel title="Verifications by source">
      {by_source.length === 0 ? (
        <Empty>
          <p>No source answered in this period.</p>
        </Empty>
      ) : (
        <Table
          label="Verifications by source"
          file="verifications-by-source"
          rows={by_source}
          keyOf={({ source }) => source}
          columns={[
            { title: 'Source', cell: ({ source }) => <SourceLink name={source} /> },
            {
              title: 'Verifications',
              cell: ({ verifications }) => toCount(verifications),
              isNumber: true,
            },
          ]}
        />
      )}
    </Panel>
  )
}

function LastErrors({ errors }: { errors: OverviewShape['errors'] }) {
  return (
    <Panel title="Last errors">
      {errors.length === 0 ? (
        <Empty>
          <p>The audit log has no errors in this period.</p>
        </Empty>
      ) : (
        <Table
          label="Last errors"
          file="last-errors"
          rows={errors}
          keyOf={({ at, operation, outcome, key_id, reference }) =>
            [at, operation, outcome, key_id, reference].join(' ')
          }
          columns={[
            { title: 'Last', cell: ({ at }) => <When at={at} to="second" /> },
            {
              title: 'Outcome',
              cell: ({ outcome, count }) => (
                <span class="nowrap">
                  <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>
                  {count > 1 && <b> ×{toCount(count)}</b>}
                </span>
              ),
              exported: { Outcome: ({ outcome }) => toWords(outcome), Times: ({ count }) => count },
            },
            {
              title: 'Operation',
              cell: ({ operation }) => <span class="nowrap">{toOperation(operation)}</span>,
            },
            { title: 'Key', cell: ({ key_id }) => (key_id === null ? '–' : <KeyLink id={key_id} />) },
            {
              title: 'Timeline',
              cell: ({ reference }) => <Reference text={reference} />,
            },
          ]}
        />
      )}
    </Panel>
  )
}

type RangePickerProps = {
  readonly filters: OverviewFilters
  readonly onChange: (changes: FilterChanges) => void
}

const OPTIONS = [
  { value: 'hour', text: 'Hour' },
  { value: 'day', text: 'Day' },
  { value: 'week', text: 'Week' },
  { value: 'month', text: 'Month' },
  { value: 'custom', text: 'Custom' },
] as const

/** A range up to now, or one with a start and an end. */
function RangePicker({ filters, onChange }: RangePickerProps) {
  const [isOpen, setOpen] = useState(false)
  const isCustom = isOpen || filters.from !== undefined
  return (
    <>
      <Segments
        legend="Range"
        value={isCustom ? 'custom' : filters.range}
        options={OPTIONS}
        onValue={(value) => {
          setOpen(value === 'custom')
          if (value !== 'custom') onChange({ range: value, from: undefined, to: undefined })
        }}
      />
      {isCustom && (
        <CustomRange key={`${filters.from} ${filters.to}`} filters={filters} onChange={onChange} />
      )}
    </>
  )
}

function CustomRange({ filters, onChange }: RangePickerProps) {
  const [from, setFrom] = useState(toLocal(filters.from))
  const [to, setTo] = useState(toLocal(filters.to))
  return (
    <form
      class="range"
      onSubmit={(event) => {
        event.preventDefault()
        onChange({ range: undefined, from: toIso(from), to: toIso(to) })
      }}
    >
      <TextField label="From" type="datetime-local" required value={from} onValue={setFrom} />
      <TextField label="To" type="datetime-local" help="Empty: until now" value={to} onValue={setTo} />
      <button type="submit">Show</button>
    </form>
  )
}

const toIso = (local: string) => (local === '' ? undefined : new Date(local).toISOString())

/** In the time zone of the browser: 2026-11-15T09:30. */
function toLocal(iso: string | undefined): string {
  const time = Date.parse(iso ?? '')
  if (Number.isNaN(time)) return ''
  const date = new Date(time)
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
