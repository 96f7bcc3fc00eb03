import { toCount, toMoment } from '../format.ts'
import { Table } from './table.tsx'
import { When } from './when.tsx'

type Step = { readonly at: string; readonly good: number; readonly bad: number }

type StepBarsProps = {
  readonly label: string
  /** What good and bad ones are called. */
  readonly words: readonly [string, string]
  readonly steps: readonly Step[]
}

const WIDTH = 10
const HEIGHT = 100

/** Counts over time, good ones below bad ones, drawn and as a table. */
export function StepBars({ label, words: [good, bad], steps }: StepBarsProps) {
  const most = Math.max(1, ...steps.map((step) => step.good + step.bad))
  const toHeight = (count: number) => (count / most) * HEIGHT
  const total = (of: 'good' | 'bad') => toCount(steps.reduce((sum, step) => sum + step[of], 0))
  const first = steps[0]?.at
  return (
    <>
      <p class="legend">
        <span>
          <i data-colour="verified" /> {good} <b>{total('good')}</b>
        </span>
        <span>
          <i data-colour="failed" /> {bad} <b>{total('bad')}</b>
        </span>
        {first !== undefined && <span class="dim">since {toMoment(first)}</span>}
      </p>
      <svg
        class="bars"
        viewBox={`0 0 ${steps.length * WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${total('good')} ${good}, ${total('bad')} ${bad}`}
      >
        {steps.map((step, index) => (
          <g key={step.at}>
            <rect
              class="good"
              x={index * WIDTH + 1}
              width={WIDTH - 2}
              y={HEIGHT - toHeight(step.good)}
              height={toHeight(step.good)}
            />
            <rect
              class="bad"
              x={index * WIDTH + 1}
              width={WIDTH - 2}
              y={HEIGHT - toHeight(step.good + step.bad)}
              height={toHeight(step.bad)}
            />
          </g>
        ))}
      </svg>
      <details>
        <summary class="dim">Show as table</summary>
        <Table
          label={label}
          file={label.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}
          rows={steps.toReversed()}
          keyOf={({ at }) => at}
          columns={[
            { title: 'From', cell: ({ at }) => <When at={at} /> },
            { title: good, cell: (step) => toCount(step.good), isNumber: true },
            { title: bad, cell: (step) => toCount(step.bad), isNumber: true },
          ]}
        />
      </details>
    </>
  )
}
