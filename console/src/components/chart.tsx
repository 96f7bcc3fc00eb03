import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Overview } from '../../../src/admin/shapes/overview.ts'
import { toCount, toMoment, toShortCount } from '../format.ts'
import { watchTheme } from '../theme.ts'
import { Table } from './table.tsx'

const SERIES = [
  { name: 'verified', title: 'Verified' },
  { name: 'not_verified', title: 'Not verified' },
  { name: 'failed', title: 'Failed' },
] as const

const HEIGHT = 220

/** Stacked bars: the sum is drawn first, the lower parts over it. */
function toData({ steps }: Overview): uPlot.AlignedData {
  const times = steps.map(({ at }) => Date.parse(at) / 1000)
  const all = steps.map(({ verified, not_verified, failed }) => verified + not_verified + failed)
  const answered = steps.map(({ verified, not_verified }) => verified + not_verified)
  return [times, all, answered, steps.map(({ verified }) => verified)]
}

/** The colours of the theme, for the canvas. */
function readColours(box: HTMLElement): Record<string, string> {
  const names = [...SERIES.map(({ name }) => name), 'axis', 'grid']
  return Object.fromEntries(
    names.map((name) => {
      const swatch = box.querySelector(`[data-colour=${name}]`)
      return [name, swatch ? getComputedStyle(swatch).backgroundColor : 'gray']
    }),
  )
}

function createPlot(
  box: HTMLElement,
  overview: Overview,
  onPoint: (index: number | undefined) => void,
): uPlot {
  const colour = readColours(box)
  const bars = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 })
  const layer = (name: string): uPlot.Series => ({
    fill: colour[name] as string,
    width: 0,
    points: { show: false },
    ...(bars ? { paths: bars } : {}),
  })
  const axis = {
    stroke: colour.axis as string,
    font: '12px system-ui, sans-serif',
    grid: { stroke: colour.grid as string, width: 1 },
    ticks: { show: false },
  }
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: (_plot, min, max) => [min, max + overview.step_seconds] },
        y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.08)] },
      },
      series: [{}, layer('failed'), layer('not_verified'), layer('verified')],
      axes: [
        { ...axis, size: 28, grid: { show: false }, values: toTicks },
        {
          ...axis,
          size: 48,
          values: (_plot, splits) => splits.map(toShortCount),
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7],
        },
      ],
      hooks: { setCursor: [(plot) => onPoint(findStep(plot))] },
    },
    toData(overview),
    box,
  )
}

/** The bar under the pointer. A bar starts at its time, so the nearest time may belong to the next bar. */
function findStep({ cursor: { left, idx }, data: [times], posToVal }: uPlot): number | undefined {
  if (left === undefined || left < 0 || idx === null || idx === undefined) return undefined
  const at = posToVal(left, 'x')
  const step = times.findLastIndex((time) => time <= at)
  return step < 0 ? undefined : step
}

const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

const toTicks: uPlot.Axis.Values = (_plot, splits, _axis, _space, increment) =>
  splits.map((seconds) => {
    const date = new Date(seconds * 1000)
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0
    return increment >= 86_400 || isMidnight ? days.format(date) : hours.format(date)
  })

export function Chart({ overview }: { overview: Overview }) {
  const box = useRef<HTMLDivElement>(null)
  const [point, setPoint] = useState<number>()
  const plot = useRef<uPlot>(undefined)
  const latest = useRef(overview)
  latest.current = overview
  // Only a new range needs a new chart; new counts change the bars.
  const { range, step_seconds } = overview
  useEffect(() => {
    const { current } = box
    if (!current) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = createPlot(current, latest.current, setPoint)
    }
    draw()
    const unwatch = watchTheme(draw)
    const sizes = new ResizeObserver(() =>
      plot.current?.setSize({ width: current.clientWidth, height: HEIGHT }),
    )
    sizes.observe(current)
    return () => {
      unwatch()
      sizes.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [range, step_seconds])
  useEffect(() => plot.current?.setData(toData(overview)), [overview])
  const { totals } = overview
  const isEmpty = totals.verified + totals.not_verified + totals.failed === 0
  return (
    <>
      <Legend overview={overview} point={point} />
      <div class="chart" ref={box} aria-hidden="true">
        <i data-colour="axis" />
        <i data-colour="grid" />
        {SERIES.map(({ name }) => (
          <i key={name} data-colour={name} />
        ))}
      </div>
      {isEmpty && <p class="over">No verifications in this period.</p>}
      <Numbers overview={overview} />
    </>
  )
}

/** The totals, or the counts of the bar under the pointer. */
function Legend({ overview, point }: { overview: Overview; point: number | undefined }) {
  const step = point === undefined ? undefined : overview.steps[point]
  const counts = step ?? overview.totals
  return (
    <p class="legend">
      {SERIES.map(({ name, title }) => (
        <span key={name}>
          <i data-colour={name} /> {title} <b>{toCount(counts[name])}</b>
        </span>
      ))}
      <span class="dim">{step ? `from ${toMoment(step.at)}` : 'total'}</span>
    </p>
  )
}

function Numbers({ overview }: { overview: Overview }) {
  const [isOpen, setOpen] = useState(false)
  const steps = overview.steps.filter(
    ({ verified, not_verified, failed }) => verified + not_verified + failed > 0,
  )
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as table</summary>
      {isOpen && steps.length === 0 && <p>No verifications in this period.</p>}
      {isOpen && steps.length > 0 && (
        <Table
          label="Verifications over time"
          rows={steps.toReversed()}
          keyOf={({ at }) => at}
          columns={[
            { title: 'From', cell: ({ at }) => toMoment(at) },
            ...SERIES.map(({ name, title }) => ({
              title,
              cell: (step: (typeof steps)[number]) => toCount(step[name]),
              isNumber: true,
            })),
          ]}
        />
      )}
    </details>
  )
}
