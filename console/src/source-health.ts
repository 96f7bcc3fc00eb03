import type { SourceState } from '../../src/admin/source-states.ts'
import { toNaira, toOperation, toShare, toWords } from './format.ts'

type HealthTone = 'good' | 'warn' | 'bad' | 'dim'
type SourceHealth = { readonly tone: HealthTone; readonly words: string }

const STATES: Readonly<Record<string, SourceHealth>> = {
  half_open: { tone: 'warn', words: 'failing, being tested' },
  open: { tone: 'bad', words: 'failing, not called' },
  disabled: { tone: 'dim', words: 'disabled' },
  not_running: { tone: 'warn', words: 'server not running' },
  not_asked: { tone: 'dim', words: 'not called yet' },
  unchanged: { tone: 'good', words: 'synced, unchanged' },
  changed: { tone: 'good', words: 'synced' },
}

const WARNINGS: Readonly<Record<SourceState['warnings'][number], string>> = {
  no_funds: 'no funds at the vendor',
  credentials_refused: 'credentials refused',
  unknown_path: 'path not found',
  unlisted_answer: 'returns an unknown error',
  question_rejected: 'rejects requests',
  unreadable_phone: 'records without a readable phone',
  mostly_not_found: 'finds almost no records',
  throttled: 'rate limited by the vendor',
}

const FAILING = 0.5
const DEGRADED = 0.1

/** A closed breaker does not mean healthy: it is closed before the first call, and while a few calls fail. */
export function toHealth(source: SourceState): SourceHealth {
  const state = source.disabled ? 'disabled' : source.state
  if (!source.disabled && source.is_capped) return { tone: 'bad', words: 'cap reached, not called' }
  if (!source.disabled && source.warnings.length > 0) return toWarningHealth(source)
  if (state !== 'closed') return toBadIfDown(source, STATES[state] ?? { tone: 'warn', words: toWords(state) })
  if (source.is_down) return { tone: 'bad', words: 'failing' }
  const { calls, recent_calls, error_rate } = source
  if (!calls) return { tone: 'dim', words: 'not called yet' }
  if (recent_calls === 0) return { tone: 'dim', words: 'no calls in the last five minutes' }
  if ((error_rate ?? 0) >= FAILING) return { tone: 'bad', words: 'failing' }
  return (error_rate ?? 0) >= DEGRADED
    ? { tone: 'warn', words: 'some errors' }
    : { tone: 'good', words: 'working' }
}

/** While callers get no answers, nothing is only a warning. */
const toBadIfDown = ({ is_down, disabled }: SourceState, { tone, words }: SourceHealth): SourceHealth => ({
  tone: is_down && !disabled ? 'bad' : tone,
  words,
})

function toWarningHealth(source: SourceState): SourceHealth {
  const { warnings, state } = source
  const words = warnings.map((warning) => WARNINGS[warning]).join(', ')
  const tone = warnings.every((warning) => warning === 'throttled') ? 'warn' : 'bad'
  return toBadIfDown(source, { tone, words: state === 'open' ? `${words}, not called` : words })
}

export const toErrorRate = ({ recent_calls, error_rate }: SourceState) =>
  recent_calls ? toShare(error_rate) : '–'

const BREAKERS: Readonly<Record<string, string>> = { closed: 'closed', half_open: 'half open', open: 'open' }

/** Undefined for catalogue sources, which have no breaker. */
export const toBreaker = ({ state }: SourceState): string | undefined => BREAKERS[state]

export type Spend = Pick<
  SourceState,
  'source' | 'calls_today' | 'spent_kobo_today' | 'cap_kobo' | 'is_capped'
>

/** Spend is per source. Every row of a source (operation, node) repeats it, so it is taken once. */
export const toSpends = (sources: readonly SourceState[]): Spend[] => [
  ...new Map(sources.map((row) => [row.source, row])).values(),
]

const NEAR_CAP = 0.8

function toSpendProblems(spend: Spend): SourceProblem[] {
  const { source, spent_kobo_today: spent, cap_kobo: cap } = spend
  if (!cap || (spent < cap * NEAR_CAP && !spend.is_capped)) return []
  if (spend.is_capped)
    return [
      {
        tone: 'bad',
        source,
        words: `has reached its daily cap of ${toNaira(cap)}: not called until midnight in Lagos`,
      },
    ]
  return [
    {
      tone: 'warn',
      source,
      words: `has spent ${toNaira(spent)} of ${toNaira(cap)} today; at the cap it is not called until midnight in Lagos`,
    },
  ]
}

export type WorstNode = SourceState & {
  /** The number of nodes in this state. */
  readonly alike: number
  readonly nodes: number
}

/** One row for each source and operation: the node in the worst state. */
export function findWorstNodes(sources: readonly SourceState[]): WorstNode[] {
  const groups = Map.groupBy(sources, ({ source, operation }) => `${source} ${operation}`)
  return [...groups.values()].flatMap((rows) => {
    const [worst] = rows.toSorted((one, other) => toRank(toHealth(one)) - toRank(toHealth(other)))
    if (!worst) return []
    const { words } = toHealth(worst)
    return [
      { ...worst, alike: rows.filter((row) => toHealth(row).words === words).length, nodes: rows.length },
    ]
  })
}

type SourceProblem = { readonly tone: HealthTone; readonly source: string; readonly words: string }

/** Problems of the sources, worst first. */
export function findProblems(sources: readonly SourceState[]): SourceProblem[] {
  const states = findWorstNodes(sources).flatMap((row) => {
    const { tone, words } = toHealth(row)
    // The cap is per source, so it is reported once below.
    if (row.is_capped && !row.disabled) return []
    if (tone === 'good' || (tone === 'dim' && !row.disabled)) return []
    const errors = row.error_rate && !row.disabled ? ` (${toErrorRate(row)} errors)` : ''
    const what = row.disabled ? '' : `${toOperation(row.operation)}: `
    return [{ tone, source: row.source, words: `${what}${words}${errors}` }]
  })
  const all = [...states, ...toSpends(sources.filter(({ disabled }) => !disabled)).flatMap(toSpendProblems)]
  const unique = new Map(all.map((problem) => [`${problem.source} ${problem.words}`, problem]))
  return [...unique.values()].sort((one, other) => toRank(one) - toRank(other))
}

const RANKS: readonly HealthTone[] = ['bad', 'warn', 'good', 'dim']
const toRank = ({ tone }: { tone: HealthTone }) => RANKS.indexOf(tone)
