import { useState } from 'preact/hooks'
import type { Charts } from '../../../../src/admin/charts.ts'
import type { Overview } from '../../../../src/admin/overview-figures.ts'
import { Segments } from '../../components/field.tsx'
import { SourceLink } from '../../components/object-page.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { toCount, toMs, toNaira, toShare } from '../../format.ts'
import { type OverviewFilters, toOverviewQuery } from '../../use-overview-events.ts'
import { useQuery, useReloads } from '../../use-query.ts'
import { Chart, sumOf, toEmptyText } from './chart.tsx'

const PARTS = ['p50', 'p95', 'p99'] as const

export function LatencyChart({ overview }: { overview: Overview }) {
  const { steps, step_seconds, latency } = overview
  const lines = PARTS.map((part, index) => ({
    colour: `series-${index + 1}`,
    title: part,
    values: steps.map((step) => step.latency?.[`${part}_ms`] ?? null),
  }))
  return (
    <Chart
      label="Latency"
      data={{ times: steps.map(({ at }) => at), stepSeconds: step_seconds, bars: [], lines, toLabel: toMs }}
      totals={PARTS.map((part) => toMs(latency?.[`${part}_ms`] ?? null))}
      toText={toMs}
      empty={toEmptyText(overview)}
    />
  )
}

const RELOAD_MS = 15_000

export function LoadedChart({ chosen, filters }: { chosen: 'vendors' | 'keys'; filters: OverviewFilters }) {
  const query = useQuery<Charts>(`/admin/charts?${toOverviewQuery(filters)}`)
  useReloads(query, RELOAD_MS)
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
      label="Keys by verifications"
      data={{ times: charts.steps, stepSeconds: charts.step_seconds, bars: [], lines }}
      totals={charts.keys.map(({ steps }) => toCount(sumOf(steps)))}
      empty={toEmptyText(filters)}
    />
  )
}

const FIGURES = [
  { value: 'calls', text: 'Calls' },
  { value: 'errors', text: 'Errors' },
  { value: 'latency', text: 'Latency p95' },
  { value: 'spend', text: 'Spend' },
] as const
type Figure = (typeof FIGURES)[number]['value']
type Vendor = Charts['vendors'][number]

const READ: Readonly<Record<Figure, (step: Vendor['steps'][number]) => number | null>> = {
  calls: ({ calls }) => calls,
  errors: ({ errors }) => errors,
  latency: ({ p95_ms }) => p95_ms,
  spend: ({ kobo }) => kobo,
}
const TOTAL: Readonly<Record<Figure, (vendor: Vendor) => string>> = {
  calls: ({ calls }) => toCount(calls),
  errors: ({ errors }) => toCount(errors),
  latency: ({ latency }) => toMs(latency?.p95_ms ?? null),
  spend: ({ kobo }) => toNaira(kobo),
}

function VendorChart({ charts }: { charts: Charts }) {
  const [figure, setFigure] = useState<Figure>('calls')
  const { vendors } = charts
  if (vendors.length === 0)
    return (
      <Empty>
        <p>No vendor was called in this period.</p>
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
      <Segments legend="Figure" value={figure} options={FIGURES} onValue={setFigure} />
      <Chart
        key={figure}
        label={FIGURES.find(({ value }) => value === figure)?.text ?? ''}
        data={{ times: charts.steps, stepSeconds: charts.step_seconds, bars: [], lines, toLabel: toText }}
        totals={vendors.map(TOTAL[figure])}
        {...(toText ? { toText } : {})}
        empty="No vendor was called in this period."
      />
      <VendorTable vendors={vendors} />
      <p class="dim">Calls of all nodes. Test keys reach no vendor.</p>
    </>
  )
}

function VendorTable({ vendors }: { vendors: readonly Vendor[] }) {
  return (
    <Table
      label="Calls to vendors"
      file="calls-to-vendors"
      rows={vendors}
      keyOf={({ source }) => source}
      columns={[
        { title: 'Vendor', cell: ({ source }) => <SourceLink name={source} /> },
        { title: 'Calls', cell: ({ calls }) => toCount(calls), isNumber: true },
        {
          title: 'Errors',
          cell: ({ errors, calls }) => `${toCount(errors)} (${toShare(calls === 0 ? null : errors / calls)})`,
          isNumber: true,
          exported: { Errors: ({ errors }) => errors },
        },
        ...PARTS.map((part) => ({
          title: part,
          cell: ({ latency }: Vendor) => toMs(latency?.[`${part}_ms`] ?? null),
          isNumber: true,
        })),
        { title: 'Spend', cell: ({ kobo }) => toNaira(kobo), isNumber: true },
      ]}
    />
  )
}
