import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { Table } from '../../components/table.tsx'
import { toCount, toMoment } from '../../format.ts'
import { watchTheme } from '../../theme.ts'
import { createPlot, PLOT_HEIGHT, type PlotData, type PlotSeries, toPlotData } from './plot.ts'

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
          rows={steps.toReversed()}
          keyOf={({ at }) => at}
          columns={[
            { title: 'From', cell: ({ at }) => toMoment(at) },
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
