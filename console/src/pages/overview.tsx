import { useState } from 'preact/hooks'
import type { Overview as OverviewShape } from '../../../src/admin/shapes/overview.ts'
import { Chart } from '../components/chart.tsx'
import { Segments } from '../components/field.tsx'
import { LiveState } from '../components/live-state.tsx'
import { Panel, Pill, toOutcomeTone, When } from '../components/pieces.tsx'
import { SourcesTable } from '../components/sources-table.tsx'
import { Empty, LoadError, Loading } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import { toCount, toMs, toNaira, toOperation, toPercent, toWords } from '../format.ts'
import { toHash, toKeySearch } from '../route.ts'
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
      {value && <Seen overview={value} />}
      {!value && error && <LoadError error={error} onRetry={reload} />}
      {!value && !error && <Loading lines={8} />}
    </>
  )
}

function Seen({ overview }: { overview: OverviewShape }) {
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
              No vendor is set up, so live keys are answered from your own records alone. Vendors are set up
              with <code>TABBAT_NIN_SOURCES</code>, <code>TABBAT_BVN_SOURCES</code> and their own{' '}
              <a href={toHash('settings')}>settings</a>.
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

/** Before everything else: who fails, is switched off, or is about to reach its cap. */
function Attention({ sources }: { sources: OverviewShape['sources'] }) {
  const troubles = findProblems(sources)
  const [worst] = troubles
  if (!worst) return null
  return (
    <section class={`note ${worst.tone}`} aria-label="Sources that need attention">
      <ul>
        {troubles.map(({ source, words }) => (
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
      success_rate === null ? 'nothing yet' : `${toCount(totals.failed)} failed`,
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

function TopKeys({ overview: { keys } }: { overview: OverviewShape }) {
  return (
    <Panel title="Top keys">
      {keys.length === 0 ? (
        <Empty>
          <p>
            No key has been used in this time. <a href={toHash('keys')}>Create one</a> or{' '}
            <a href={toHash('try')}>try a verification</a>.
          </p>
        </Empty>
      ) : (
        <Table
          label="Keys by verifications"
          rows={keys}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Key', cell: ({ name, id }) => <NamedKey name={name} id={id} /> },
            {
              title: 'Mode',
              cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>,
            },
            { title: 'Verifications', cell: ({ verifications }) => toCount(verifications), isNumber: true },
          ]}
        />
      )}
    </Panel>
  )
}

function NamedKey({ name, id }: { name: string; id: string }) {
  return (
    <>
      <a href={toHash('audit', toKeySearch(id))}>{name}</a>
      <br />
      <code>{id}</code>
    </>
  )
}

function BySource({ overview: { by_source } }: { overview: OverviewShape }) {
  return (
    <Panel title="Who answered">
      {by_source.length === 0 ? (
        <Empty>
          <p>No source has answered in this time.</p>
        </Empty>
      ) : (
        <Table
          label="Verifications by source"
          rows={by_source}
          keyOf={({ source }) => source}
          columns={[
            { title: 'Source', cell: ({ source }) => (source === 'none' ? 'nobody' : source) },
            { title: 'Verifications', cell: ({ verifications }) => toCount(verifications), isNumber: true },
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
          <p>No errors. Failed verifications will be listed here.</p>
        </Empty>
      ) : (
        <Table
          label="Last errors"
          rows={errors}
          keyOf={({ at, operation, outcome, key_id, reference }) =>
            [at, operation, outcome, key_id, reference].join(' ')
          }
          columns={[
            { title: 'Last', cell: ({ at }) => <When at={at} to="second" /> },
            {
              title: 'Outcome',
              cell: ({ outcome, count }) => (
                <span class="still">
                  <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>
                  {count > 1 && <b> ×{toCount(count)}</b>}
                </span>
              ),
            },
            {
              title: 'Operation',
              cell: ({ operation }) => <span class="still">{toOperation(operation)}</span>,
            },
            { title: 'Key', cell: ({ key_id }) => (key_id === null ? '–' : <code>{key_id}</code>) },
            {
              title: 'Story',
              cell: ({ reference }) =>
                reference === null ? (
                  '–'
                ) : (
                  <a href={toHash('audit', reference)}>
                    <code class="clip">{reference}</code>
                  </a>
                ),
            },
          ]}
        />
      )}
    </Panel>
  )
}
