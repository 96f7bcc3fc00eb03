import type { SourceState } from '../../src/admin/shapes/overview.ts'
import { toNaira, toOperation, toShare, toWords } from './format.ts'

export type HealthTone = 'good' | 'warn' | 'bad' | 'dim'
export type SourceHealth = { readonly tone: HealthTone; readonly words: string }

const STATES: Readonly<Record<string, SourceHealth>> = {
  half_open: { tone: 'warn', words: 'being tried again' },
  open: { tone: 'bad', words: 'failing, not asked' },
  disabled: { tone: 'dim', words: 'disabled' },
  not_running: { tone: 'warn', words: 'server not running' },
  not_asked: { tone: 'dim', words: 'not asked yet' },
  unchanged: { tone: 'good', words: 'synced, unchanged' },
  changed: { tone: 'good', words: 'synced' },
}

const WARNINGS: Readonly<Record<SourceState['warnings'][number], string>> = {
  no_funds: 'no funds at the vendor',
  credentials_refused: 'credentials refused',
  unknown_path: 'does not know the path',
  unlisted_answer: 'gives an error that is on no list',
  question_rejected: 'rejects questions',
  unreadable_phone: 'has records without a readable phone',
  mostly_not_found: 'finds nearly no number',
  throttled: 'asks us to wait',
}

const FAILING = 0.5
const SHAKY = 0.1

/** A closed breaker alone proves nothing: it is closed before the first call, and while a few calls all fail. */
export function toHealth(source: SourceState): SourceHealth {
  const state = source.disabled ? 'disabled' : source.state
  if (!source.disabled && source.is_capped) return { tone: 'bad', words: 'cap reached, not asked' }
  if (!source.disabled && source.warnings.length > 0) return toWarned(source)
  if (state !== 'closed') return STATES[state] ?? { tone: 'warn', words: toWords(state) }
  const { calls, recent_calls, error_rate } = source
  if (!calls) return { tone: 'dim', words: 'not asked yet' }
  if (recent_calls === 0) return { tone: 'dim', words: 'not asked in the last five minutes' }
  if ((error_rate ?? 0) >= FAILING) return { tone: 'bad', words: 'failing' }
  return (error_rate ?? 0) >= SHAKY
    ? { tone: 'warn', words: 'some errors' }
    : { tone: 'good', words: 'working' }
}

function toWarned({ warnings, state }: SourceState): SourceHealth {
  const words = warnings.map((warning) => WARNINGS[warning]).join(', ')
  const tone = warnings.every((warning) => warning === 'throttled') ? 'warn' : 'bad'
  return { tone, words: state === 'open' ? `${words}, not asked` : words }
}

export const toErrorRate = ({ recent_calls, error_rate }: SourceState) =>
  recent_calls ? toShare(error_rate) : '–'

const BREAKERS: Readonly<Record<string, string>> = { closed: 'closed', half_open: 'half open', open: 'open' }

/** Undefined where there is none: lists are fetched without. */
export const toBreaker = ({ state }: SourceState): string | undefined => BREAKERS[state]

export type Spend = Pick<
  SourceState,
  'source' | 'calls_today' | 'spent_kobo_today' | 'cap_kobo' | 'is_capped'
>

/** Spend is of a source. It stands on each row of that source, one for each operation and node, and counts once. */
export const toSpends = (sources: readonly SourceState[]): Spend[] => [
  ...new Map(sources.map((row) => [row.source, row])).values(),
]

const NEARLY = 0.8

function toSpendProblems(spend: Spend): SourceProblem[] {
  const { source, spent_kobo_today: spent, cap_kobo: cap } = spend
  if (!cap || (spent < cap * NEARLY && !spend.is_capped)) return []
  if (spend.is_capped)
    return [
      {
        tone: 'bad',
        source,
        words: `has spent its cap of ${toNaira(cap)}: not asked until midnight in Lagos`,
      },
    ]
  const sum = `${toNaira(spent)} of ${toNaira(cap)}`
  return [
    { tone: 'warn', source, words: `has spent ${sum}; at its cap it is not asked until midnight in Lagos` },
  ]
}

export type WorstNode = SourceState & {
  /** On how many of the nodes it is as bad as here. */
  readonly alike: number
  readonly nodes: number
}

/** One row for each source and operation: that of the node where it does worst. */
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

export type SourceProblem = { readonly tone: HealthTone; readonly source: string; readonly words: string }

/** What somebody who is woken up must know first, the worst first. */
export function findProblems(sources: readonly SourceState[]): SourceProblem[] {
  const states = findWorstNodes(sources).flatMap((row) => {
    const { tone, words } = toHealth(row)
    // The cap is of the source and not of an operation: it is told once.
    if (row.is_capped && !row.disabled) return []
    if (tone === 'good' || (tone === 'dim' && !row.disabled)) return []
    const errors = row.error_rate && !row.disabled ? ` (${toErrorRate(row)} errors)` : ''
    const what = row.disabled ? '' : `${toOperation(row.operation)}: `
    return [{ tone, source: row.source, words: `${what}${words}${errors}` }]
  })
  const all = [...states, ...toSpends(sources.filter(({ disabled }) => !disabled)).flatMap(toSpendProblems)]
  const unique = new Map(all.map((trouble) => [`${trouble.source} ${trouble.words}`, trouble]))
  return [...unique.values()].sort((one, other) => toRank(one) - toRank(other))
}

/** What does not work stands before what works, and what works before what was never tried. */
const RANKS: readonly HealthTone[] = ['bad', 'warn', 'good', 'dim']
const toRank = ({ tone }: { tone: HealthTone }) => RANKS.indexOf(tone)
