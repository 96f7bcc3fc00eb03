import { useEffect, useState } from 'preact/hooks'
import type { Charts, Overview } from '../../../src/admin/shapes/overview.ts'
import { toCount, toMs, toNaira, toShare } from '../format.ts'
import { type OverviewFilters, toOverviewQuery } from '../overview-filters.ts'
import { useFilters } from '../route.ts'
import { overviewTexts as texts } from '../texts/en/overview.ts'
import { useQuery } from '../use-query.ts'
import { Chart } from './chart.tsx'
import { Segments } from './field.tsx'
import { Panel } from './panel.tsx'
import { Empty, QueryResult } from './query-result.tsx'
import { Table } from './table.tsx'

const CHARTS = ['verifications', 'latency', 'vendors', 'keys'] as const
const toOptions = <T extends string>(names: readonly T[], words: Readonly<Record<T, string>>) =>
  names.map((value) => ({ value, text: words[value] }))

/** The chart that the address names. */
export function OverviewCharts({ overview, filters }: { overview: Overview; filters: OverviewFilters }) {
  const [address, change] = useFilters()
  const chosen = CHARTS.find((name) => name === address.get('chart')) ?? 'verifications'
  return (
    <Panel
      title={texts.overTime}
      aside={
        <Segments
          legend={texts.chart}
          value={chosen}
          options={toOptions(CHARTS, texts.charts)}
          onValue={(chart) => change({ chart: chart === 'verifications' ? undefined : chart })}
        />
      }
    >
      {chosen === 'verifications' && <VerificationChart overview={overview} />}
      {chosen === 'latency' && <LatencyChart overview={overview} />}
      {(chosen === 'vendors' || chosen === 'keys') && <LoadedChart chosen={chosen} filters={filters} />}
    </Panel>
  )
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

const toEmptyText = ({ mode }: Pick<Overview, 'mode'>) => (mode === 'live' ? texts.emptyLive : texts.empty)

function VerificationChart({ overview }: { overview: Overview }) {
  const { steps, step_seconds, totals, before } = overview
  const bars = [
    { colour: 'verified', title: texts.verified, values: steps.map(({ verified }) => verified) },
    { colour: 'not_verified', title: texts.notVerified, values: steps.map((step) => step.not_verified) },
    { colour: 'failed', title: texts.failed, values: steps.map(({ failed }) => failed) },
  ]
  const lines = before ? [{ colour: 'before', title: texts.before, values: before.steps }] : []
  const figures = [totals.verified, totals.not_verified, totals.failed, sumOf(before?.steps ?? [])]
  return (
    <Chart
      label={texts.tiles.verifications}
      data={{ times: steps.map(({ at }) => at), stepSeconds: step_seconds, bars, lines }}
      totals={figures.map(toCount)}
      empty={toEmptyText(overview)}
    />
  )
}

const PARTS = ['p50', 'p95', 'p99'] as const

function LatencyChart({ overview }: { overview: Overview }) {
  const { steps, step_seconds, latency } = overview
  const lines = PARTS.map((part, index) => ({
    colour: `series-${index + 1}`,
    title: part,
    values: steps.map((step) => step.latency?.[`${part}_ms`] ?? null),
  }))
  return (
    <Chart
      label={texts.charts.latency}
      data={{ times: steps.map(({ at }) => at), stepSeconds: step_seconds, bars: [], lines, toLabel: toMs }}
      totals={PARTS.map((part) => toMs(latency?.[`${part}_ms`] ?? null))}
      toText={toMs}
      empty={toEmptyText(overview)}
    />
  )
}

const RELOAD_MS = 15_000

function LoadedChart({ chosen, filters }: { chosen: 'vendors' | 'keys'; filters: OverviewFilters }) {
  const query = useQuery<Charts>(`/admin/charts?${toOverviewQuery(filters)}`)
  const { reload } = query
  useEffect(() => {
    const timer = setInterval(reload, RELOAD_MS)
    return () => clearInterval(timer)
  }, [reload])
  return (
    <QueryResult query={query} lines={6}>
      {(charts) =>
        chosen === 'vendors' ? (
          <VendorChart charts={charts} />
        ) : (
          <KeyChart charts={charts} filters={filters} />
        )
      }
    </QueryResult>
  )
}

function KeyChart({ charts, filters }: { charts: Charts; filters: OverviewFilters }) {
  const lines = charts.keys.map(({ id, name, steps }, index) => ({
    colour: `series-${index + 1}`,
    title: `${name} (${id})`,
    values: steps,
  }))
  return (
    <Chart
      label={texts.keysTable}
      data={{ times: charts.steps, stepSeconds: charts.step_seconds, bars: [], lines }}
      totals={charts.keys.map(({ steps }) => toCount(sumOf(steps)))}
      empty={toEmptyText(filters)}
    />
  )
}

const FIGURES = ['calls', 'errors', 'latency', 'spend'] as const
type Vendor = Charts['vendors'][number]

const READ: Readonly<Record<(typeof FIGURES)[number], (step: Vendor['steps'][number]) => number | null>> = {
  calls: ({ calls }) => calls,
  errors: ({ errors }) => errors,
  latency: ({ p95_ms }) => p95_ms,
  spend: ({ kobo }) => kobo,
}
const TOTAL: Readonly<Record<(typeof FIGURES)[number], (vendor: Vendor) => string>> = {
  calls: ({ calls }) => toCount(calls),
  errors: ({ errors }) => toCount(errors),
  latency: ({ latency }) => toMs(latency?.p95_ms ?? null),
  spend: ({ kobo }) => toNaira(kobo),
}

function VendorChart({ charts }: { charts: Charts }) {
  const [figure, setFigure] = useState<(typeof FIGURES)[number]>('calls')
  const { vendors } = charts
  if (vendors.length === 0)
    return (
      <Empty>
        <p>{texts.noCalls}</p>
      </Empty>
    )
  const toText = figure === 'latency' ? toMs : figure === 'spend' ? toNaira : undefined
  const lines = vendors.map(({ source, steps }, index) => ({
    colour: `series-${(index % 6) + 1}`,
    title: source,
    values: steps.map(READ[figure]),
  }))
  return (
    <>
      <Segments
        legend={texts.figure}
        value={figure}
        options={toOptions(FIGURES, texts.figures)}
        onValue={setFigure}
      />
      <Chart
        key={figure}
        label={texts.figures[figure]}
        data={{ times: charts.steps, stepSeconds: charts.step_seconds, bars: [], lines, toLabel: toText }}
        totals={vendors.map(TOTAL[figure])}
        {...(toText ? { toText } : {})}
        empty={texts.noCalls}
      />
      <VendorTable vendors={vendors} />
      <p class="dim">{texts.vendorNote}</p>
    </>
  )
}

function VendorTable({ vendors }: { vendors: readonly Vendor[] }) {
  const { vendorColumns: titles } = texts
  return (
    <Table
      label={texts.vendorTable}
      rows={vendors}
      keyOf={({ source }) => source}
      columns={[
        { title: titles.source, cell: ({ source }) => <b>{source}</b> },
        { title: titles.calls, cell: ({ calls }) => toCount(calls), isNumber: true },
        {
          title: titles.errors,
          cell: ({ errors, calls }) => `${toCount(errors)} (${toShare(calls === 0 ? null : errors / calls)})`,
          isNumber: true,
        },
        ...PARTS.map((part) => ({
          title: titles[part],
          cell: ({ latency }: Vendor) => toMs(latency?.[`${part}_ms`] ?? null),
          isNumber: true,
        })),
        { title: titles.spend, cell: ({ kobo }) => toNaira(kobo), isNumber: true },
      ]}
    />
  )
}
