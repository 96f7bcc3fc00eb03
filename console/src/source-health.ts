import type { SourceState } from '../../src/admin/shapes/overview.ts'
import { toNaira, toOperation, toShare, toWords } from './format.ts'
import { sourcesTexts as texts } from './texts/en/sources.ts'

type HealthTone = 'good' | 'warn' | 'bad' | 'dim'
type SourceHealth = { readonly tone: HealthTone; readonly words: string }

const { health } = texts

const STATES: Readonly<Record<string, SourceHealth>> = {
  half_open: { tone: 'warn', words: health.half_open },
  open: { tone: 'bad', words: health.open },
  disabled: { tone: 'dim', words: health.disabled },
  not_running: { tone: 'warn', words: health.not_running },
  not_asked: { tone: 'dim', words: health.not_asked },
  unchanged: { tone: 'good', words: health.unchanged },
  changed: { tone: 'good', words: health.changed },
}

const WARNINGS: Readonly<Record<SourceState['warnings'][number], string>> = texts.warnings

const FAILING = 0.5
const DEGRADED = 0.1

/** A closed breaker does not mean healthy: it is closed before the first call, and while a few calls fail. */
export function toHealth(source: SourceState): SourceHealth {
  const state = source.disabled ? 'disabled' : source.state
  if (!source.disabled && source.is_capped) return { tone: 'bad', words: health.capped }
  if (!source.disabled && source.warnings.length > 0) return toWarningHealth(source)
  if (state !== 'closed') return toBadIfDown(source, STATES[state] ?? { tone: 'warn', words: toWords(state) })
  if (source.is_down) return { tone: 'bad', words: health.failing }
  const { calls, recent_calls, error_rate } = source
  if (!calls) return { tone: 'dim', words: health.not_asked }
  if (recent_calls === 0) return { tone: 'dim', words: health.idle }
  if ((error_rate ?? 0) >= FAILING) return { tone: 'bad', words: health.failing }
  return (error_rate ?? 0) >= DEGRADED
    ? { tone: 'warn', words: health.degraded }
    : { tone: 'good', words: health.working }
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
  return toBadIfDown(source, { tone, words: state === 'open' ? texts.toNotCalled(words) : words })
}

export const toErrorRate = ({ recent_calls, error_rate }: SourceState) =>
  recent_calls ? toShare(error_rate) : '–'

const BREAKERS: Readonly<Record<string, string>> = texts.breakers

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
        words: texts.toCapReached(toNaira(cap)),
      },
    ]
  return [
    {
      tone: 'warn',
      source,
      words: texts.toNearCap(toNaira(spent), toNaira(cap)),
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
    const errors = row.error_rate && !row.disabled ? texts.toErrors(toErrorRate(row)) : ''
    const what = row.disabled ? '' : `${toOperation(row.operation)}: `
    return [{ tone, source: row.source, words: `${what}${words}${errors}` }]
  })
  const all = [...states, ...toSpends(sources.filter(({ disabled }) => !disabled)).flatMap(toSpendProblems)]
  const unique = new Map(all.map((problem) => [`${problem.source} ${problem.words}`, problem]))
  return [...unique.values()].sort((one, other) => toRank(one) - toRank(other))
}

const RANKS: readonly HealthTone[] = ['bad', 'warn', 'good', 'dim']
const toRank = ({ tone }: { tone: HealthTone }) => RANKS.indexOf(tone)
