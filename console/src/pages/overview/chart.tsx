import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import type { Overview } from '../../../../src/admin/overview-figures.ts'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toMoment, toShortCount } from '../../format.ts'
import { watchTheme } from '../../theme.ts'
import 'uplot/dist/uPlot.min.css'

export const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

export const toEmptyText = ({ mode }: Pick<Overview, 'mode'>, what = 'verifications') =>
  mode === 'live'
    ? `No live ${what} in this period. Test traffic is not shown.`
    : `No ${what} in this period.`

type ChartProps = {
  /** The name of the table with the same numbers. */
  readonly label: string
  readonly data: PlotData
  /** For each series, the figure of the whole period. */
  readonly totals: readonly string[]
  readonly toText?: (value: number) => string
  readonly empty: string
}

/** Figures over time, drawn and as a table. */
export function Chart({ label, data, totals, toText = toCount, empty }: ChartProps) {
  const [point, setPoint] = useState<number>()
  const box = usePlot(data, setPoint)
  const series = [...data.bars, ...data.lines]
  const isEmpty = series.every(({ values }) => values.every((value) => !value))
  return (
    <>
      <p class="legend">
        {series.map(({ colour, title, values }, index) => (
          <span key={colour}>
            <i data-colour={colour} /> {title}{' '}
            <b>{point === undefined ? totals[index] : toCell(values[point], toText)}</b>
          </span>
        ))}
        <span class="dim">
          {point === undefined ? 'whole period' : `from ${toMoment(data.times[point] ?? '')}`}
        </span>
      </p>
      <div class="chart" ref={box} aria-hidden="true">
        {['axis', 'grid', ...series.map(({ colour }) => colour)].map((name) => (
          <i key={name} data-colour={name} />
        ))}
      </div>
      {isEmpty && <p class="over">{empty}</p>}
      <Numbers label={label} times={data.times} series={series} toText={toText} />
    </>
  )
}

const toCell = (value: number | null | undefined, toText: (value: number) => string) =>
  value === null || value === undefined ? '–' : toText(value)

/** Draws the figures. New figures change the lines; another set of series needs a new drawing. */
function usePlot(data: PlotData, onPoint: (step: number | undefined) => void) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const latest = useRef(data)
  latest.current = data
  const shape = [data.stepSeconds, ...[...data.bars, ...data.lines].map(({ title }) => title)].join('\n')
  useEffect(() => {
    const { current } = box
    if (!current) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = createPlot(current, latest.current, onPoint)
    }
    draw()
    const unwatch = watchTheme(draw)
    const sizes = new ResizeObserver(() =>
      plot.current?.setSize({ width: current.clientWidth, height: PLOT_HEIGHT }),
    )
    sizes.observe(current)
    return () => {
      unwatch()
      sizes.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, onPoint])
  useEffect(() => plot.current?.setData(toPlotData(data)), [data])
  return box
}

type NumbersProps = {
  readonly label: string
  readonly times: readonly string[]
  readonly series: readonly PlotSeries[]
  readonly toText: (value: number) => string
}

function Numbers({ label, times, series, toText }: NumbersProps) {
  const [isOpen, setOpen] = useState(false)
  const steps = times
    .map((at, step) => ({ at, values: series.map(({ values }) => values[step]) }))
    .filter(({ values }) => values.some(Boolean))
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as table</summary>
      {isOpen && steps.length === 0 && <p>No verifications in this period.</p>}
      {isOpen && steps.length > 0 && (
        <Table
          label={label}
          file={label.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}
          rows={steps.toReversed()}
          keyOf={({ at }) => at}
          columns={[
            { title: 'From', cell: ({ at }) => <When at={at} /> },
            ...series.map(({ title }, index) => ({
              title,
              cell: ({ values }: (typeof steps)[number]) => toCell(values[index], toText),
              isNumber: true,
            })),
          ]}
        />
      )}
    </details>
  )
}

/** `colour` is the name of a swatch in chart.css. A value is null where nothing was counted. */
type PlotSeries = {
  readonly colour: string
  readonly title: string
  readonly values: readonly (number | null)[]
}

type PlotData = {
  /** The start of each step. */
  readonly times: readonly string[]
  readonly stepSeconds: number
  /** Bars are stacked, the first at the bottom. */
  readonly bars: readonly PlotSeries[]
  readonly lines: readonly PlotSeries[]
  /** Labels of the vertical axis; whole numbers if absent. */
  readonly toLabel?: ((value: number) => string) | undefined
}

const PLOT_HEIGHT = 220

/** Stacked bars: the sum is drawn first, the lower parts over it. Lines are drawn last. */
function toPlotData({ times, bars, lines }: PlotData): uPlot.AlignedData {
  const sums = bars.map((_bar, top) =>
    times.map((_time, step) =>
      bars.slice(0, top + 1).reduce((sum, { values }) => sum + (values[step] ?? 0), 0),
    ),
  )
  return [
    times.map((at) => Date.parse(at) / 1000),
    ...sums.reverse(),
    ...lines.map(({ values }) => [...values]),
  ]
}

/** The colours of the theme, for the canvas. */
function readColour(box: HTMLElement, name: string): string {
  const swatch = box.querySelector(`[data-colour="${name}"]`)
  return swatch ? getComputedStyle(swatch).backgroundColor : 'gray'
}

function createPlot(box: HTMLElement, data: PlotData, onPoint: (step: number | undefined) => void): uPlot {
  const axis = {
    stroke: readColour(box, 'axis'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: readColour(box, 'grid'), width: 1 },
    ticks: { show: false },
  }
  const { stepSeconds, toLabel } = data
  return new uPlot(
    {
      width: box.clientWidth,
      height: PLOT_HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: (_plot, min, max) => [min, max + stepSeconds] },
        y: { range: (_plot, _min, max) => [0, Math.max(toLabel ? 0.01 : 4, (max ?? 0) * 1.08)] },
      },
      series: [{}, ...toSeries(box, data)],
      axes: [
        { ...axis, size: 28, grid: { show: false }, values: toTicks },
        { ...axis, size: toLabel ? 72 : 48, ...toScale(toLabel) },
      ],
      hooks: { setCursor: [(plot) => onPoint(findStep(plot))] },
    },
    toPlotData(data),
    box,
  )
}

function toSeries(box: HTMLElement, { bars, lines }: PlotData): uPlot.Series[] {
  const paths = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 })
  const stepped = uPlot.paths.stepped?.({ align: 1 })
  return [
    ...bars.toReversed().map(({ colour }) => ({
      fill: readColour(box, colour),
      width: 0,
      points: { show: false },
      ...(paths ? { paths } : {}),
    })),
    ...lines.map(({ colour }) => ({
      stroke: readColour(box, colour),
      width: 2,
      points: { show: bars.length === 0, size: 4 },
      ...(bars.length > 0 && stepped ? { paths: stepped, dash: [4, 4] } : {}),
    })),
  ]
}

const INTEGERS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7]

const toScale = (toLabel: PlotData['toLabel']): uPlot.Axis =>
  toLabel
    ? { values: (_plot, splits) => splits.map(toLabel) }
    : { values: (_plot, splits) => splits.map(toShortCount), incrs: INTEGERS }

/** The step under the pointer. A step starts at its time, so the nearest time may belong to the next one. */
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
