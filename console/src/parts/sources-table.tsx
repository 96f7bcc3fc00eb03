import type { SourceState } from '../../../src/admin/shapes/overview.ts'
import { toCount, toMs, toNaira, toOperation, toPercent, toWords } from '../format.ts'
import { Pill, type Tone, When } from './pieces.tsx'
import { type Column, Table } from './table.tsx'

const STATES: Readonly<Record<string, { tone: Tone; words: string }>> = {
  closed: { tone: 'good', words: 'working' },
  half_open: { tone: 'warn', words: 'being tried again' },
  open: { tone: 'bad', words: 'failing, not asked' },
  disabled: { tone: 'dim', words: 'disabled' },
  not_running: { tone: 'warn', words: 'server not running' },
}

/** The state of the breaker in words. Of lists it is how their last sync ended. */
export function StatePill({ state, disabled }: Pick<SourceState, 'state' | 'disabled'>) {
  const { tone, words } = STATES[disabled ? 'disabled' : state] ?? { tone: 'dim', words: toWords(state) }
  return <Pill tone={tone}>{words}</Pill>
}

function Spend({ spent_kobo_today: spent, cap_kobo: cap, source }: SourceState) {
  if (cap === null) return <>{toNaira(spent)}</>
  return (
    <span class="spend">
      {toNaira(spent)} <span class="dim">of {toNaira(cap)}</span>
      <meter
        min={0}
        max={cap}
        value={spent}
        high={cap * 0.8}
        optimum={0}
        aria-label={`${source}: spent of the cap of the day`}
      />
    </span>
  )
}

const COLUMNS: readonly Column<SourceState>[] = [
  { title: 'Source', cell: ({ source }) => <b>{source}</b> },
  { title: 'Operation', cell: ({ operation }) => <span class="still">{toOperation(operation)}</span> },
  { title: 'State', cell: (row) => <StatePill {...row} /> },
  { title: 'Calls', cell: ({ calls }) => (calls === null ? '–' : toCount(calls)), isNumber: true },
  { title: 'Errors', cell: ({ error_rate }) => toPercent(error_rate), isNumber: true },
  { title: 'p50', cell: ({ p50_ms }) => toMs(p50_ms), isNumber: true },
  { title: 'p95', cell: ({ p95_ms }) => toMs(p95_ms), isNumber: true },
  { title: 'p99', cell: ({ p99_ms }) => toMs(p99_ms), isNumber: true },
  { title: 'Last success', cell: ({ last_success_at }) => <When at={last_success_at} otherwise="never" /> },
  { title: 'Calls today', cell: ({ calls_today }) => toCount(calls_today), isNumber: true },
  { title: 'Spent today', cell: (row) => <Spend {...row} />, isNumber: true },
]

/** Enough for a glance. */
const FEW = new Set(['Source', 'Operation', 'State', 'Errors', 'p95', 'Last success', 'Spent today'])

const NODE: Column<SourceState> = {
  title: 'Node',
  cell: ({ node }) => (node === null ? '–' : <code>{node}</code>),
}

type SourcesTableProps = {
  readonly sources: readonly SourceState[]
  readonly isBrief?: boolean
  /** What the table is about stands above it already. */
  readonly isOfOne?: boolean
}

export function SourcesTable({ sources, isBrief = false, isOfOne = false }: SourcesTableProps) {
  const hasNodes = new Set(sources.map(({ node }) => node)).size > 1
  const columns = COLUMNS.filter(({ title }) => (isBrief ? FEW.has(title) : !isOfOne || title !== 'Source'))
  return (
    <Table
      label={isOfOne ? `State of ${sources[0]?.source}` : 'Sources'}
      rows={sources}
      keyOf={({ source, operation, node }) => `${source} ${operation} ${node}`}
      columns={hasNodes ? [...columns.slice(0, 1), NODE, ...columns.slice(1)] : columns}
    />
  )
}
