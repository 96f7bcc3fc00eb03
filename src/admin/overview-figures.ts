import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import {
  type AnswerTotals,
  addUpAnswers,
  type HeldCount,
  isAnswer,
  toAnswerStatus,
  toAnswerSteps,
} from '../statistics/answers.ts'
import { estimatePercentile } from '../statistics/counters.ts'
import type { AnswerStep, KeyCount, LatencyStep } from '../statistics/statistics-table.ts'
import {
  MAX_STEPS,
  type Period,
  RANGES,
  type Range,
  type Step,
  toBounds,
  toCustomPeriod,
  toFirstKept,
  toPeriod,
  toPeriodBefore,
  toStepSeconds,
  toSteps,
} from '../statistics/steps.ts'
import { Mode, Operation, strict, Time } from './fields.ts'
import { readSourceStates, SourceState } from './source-states.ts'

const counts = {
  verified: Type.Integer(),
  not_verified: Type.Integer(),
  failed: Type.Integer(),
}

/** What callers got for their requests of verifications. Rows of batches are not requests. */
const answers = Type.Object({
  verified: Type.Integer(),
  not_verified: Type.Integer(),
  /** 202: the answer comes later. */
  pending: Type.Integer(),
  /** 429: rate, quota, or too many failed matches. */
  limited: Type.Integer(),
  /** The other 4xx. */
  refused: Type.Integer(),
  /** 5xx. */
  failed: Type.Integer(),
  /** The caller closed the connection before the response. */
  broken_off: Type.Integer(),
})

/** Estimated from a histogram; null without verifications. */
export const Latency = Type.Nullable(
  Type.Object({ p50_ms: Type.Number(), p95_ms: Type.Number(), p99_ms: Type.Number() }),
)

export const Overview = Type.Object({
  /** `custom` when `from` was given. */
  range: Type.Enum([...RANGES, 'custom'] as const),
  mode: Type.Enum(['live', 'test', 'all'] as const),
  generated_at: Time,
  /** Since then the database cannot be read, and only what callers got is counted: `answers`, `answered_rate`, `causes`. Null: all is new. */
  stale_since: Type.Nullable(Time),
  /** The start of the first step and the end of the last. */
  from: Time,
  to: Time,
  /** The points of the chart: oldest first, without gaps. */
  steps: Type.Array(Type.Object({ at: Time, ...counts, latency: Latency, answers })),
  step_seconds: Type.Integer(),
  /** Outcomes in the audit log, with the rows of batches. */
  totals: Type.Object(counts),
  answers,
  /** (verified + not verified + pending) / all requests; null without requests. */
  answered_rate: Type.Nullable(Type.Number()),
  /** verified / (verified + not verified), of the audit log; null without either. */
  verified_rate: Type.Nullable(Type.Number()),
  /** Why requests were not answered, the most frequent first. `status` is null if the caller went away. */
  causes: Type.Array(
    Type.Object({ code: Type.String(), status: Type.Nullable(Type.Integer()), requests: Type.Integer() }),
  ),
  latency: Latency,
  /** The period before, of the same length; null when its statistics are no longer kept. */
  before: Type.Nullable(
    Type.Object({
      from: Time,
      to: Time,
      /** Verifications of each step. */
      steps: Type.Array(Type.Integer()),
      /** Requests of each step. */
      request_steps: Type.Array(Type.Integer()),
      totals: Type.Object(counts),
      answers,
      answered_rate: Type.Nullable(Type.Number()),
      verified_rate: Type.Nullable(Type.Number()),
      latency: Latency,
    }),
  ),
  keys: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      mode: Mode,
      verifications: Type.Integer(),
      failed: Type.Integer(),
    }),
  ),
  by_source: Type.Array(Type.Object({ source: Type.String(), verifications: Type.Integer() })),
  sources: Type.Array(SourceState),
  errors: Type.Array(
    Type.Object({
      at: Time,
      operation: Operation,
      outcome: Type.String(),
      key_id: Type.Nullable(Type.String()),
      reference: Type.Nullable(Type.String()),
      /** Equal errors of this key in the same time span. */
      count: Type.Integer(),
    }),
  ),
})
export type Overview = Static<typeof Overview>

export const OverviewInput = Type.Object(
  {
    range: Type.Optional(Type.Enum(RANGES)),
    mode: Type.Optional(Type.Enum(['live', 'test', 'all'] as const)),
    /** A range of your own, instead of `range`. */
    from: Type.Optional(Time),
    /** Without it, the range ends now. */
    to: Type.Optional(Time),
  },
  strict,
)

const MAX_KEYS = 10
const MAX_ERRORS = 10

/** The overview, the answers among its figures, and what the processes of this node had counted by then. */
export type ReadOverview = {
  readonly overview: Overview
  readonly given: readonly AnswerStep[]
  readonly held: readonly HeldCount[]
}

/** Every figure comes from the statistics tables, whose size does not grow with the audit log. */
export async function readOverview(context: Context, query: OverviewQuery): Promise<ReadOverview> {
  const { statistics } = context.store
  const now = Date.now()
  const { range, mode, from } = query
  const period = readPeriod(query, now)
  const stretch = toStretch(period, mode)
  const steps = toSteps(period, await statistics.outcomes(stretch))
  const totals = addUp(steps)
  // SQLite is synchronous: other requests run between two queries.
  await nextTurn()
  const keys = await nameKeys(context, await statistics.byKey(stretch, MAX_KEYS))
  await nextTurn()
  const bySource = await statistics.bySource(stretch)
  await nextTurn()
  const errors = await statistics.lastErrors(stretch, MAX_ERRORS)
  await nextTurn()
  const latencies = await statistics.latencySteps(stretch)
  await nextTurn()
  const written = await statistics.answers(stretch)
  const held = await listHeldAnswers(context, stretch)
  const given = [...written, ...held.map(({ unwritten, ...each }) => ({ ...each, count: unwritten }))]
  const overview: Overview = {
    range: from === undefined ? range : 'custom',
    mode,
    generated_at: new Date(now).toISOString(),
    stale_since: null,
    ...toBounds(period),
    steps: toFullSteps(period, { steps, latencies, answers: toAnswerSteps(period, given) }),
    step_seconds: toStepSeconds(period),
    totals,
    ...toAnswerFigures(given),
    verified_rate: toVerifiedRate(totals),
    latency: toLatency(latencies),
    before: await toBefore(
      context,
      toPeriodBefore(period, toFirstKept(now, context.config.statisticsKeep)),
      mode,
    ),
    keys,
    by_source: bySource.map(({ name, count }) => ({ source: name, verifications: count })),
    sources: await readSourceStates(context),
    errors: errors.map((error) => ({
      at: error.at,
      operation: error.operation,
      outcome: error.outcome,
      key_id: error.key_id || null,
      reference: error.reference || null,
      count: error.count,
    })),
  }
  return { overview, given, held }
}

/** The same without the store: what was read last, also from memory, and what callers got since then, as this node has it in memory. */
export async function toOverviewFromMemory(
  context: Context,
  query: OverviewQuery,
  { overview: last, given: before, held: heldBefore }: ReadOverview,
): Promise<ReadOverview> {
  const now = Date.now()
  const period = readPeriod(query, now)
  const known = before.filter(({ at }) => period.names.includes(at))
  const answered = await listHeldAnswers(context, toStretch(period, query.mode))
  const given = addUpByCode([...known, ...toCountedSince(heldBefore, answered)])
  const nodes = new Set(answered.map(({ node }) => node))
  // A busy process may not answer. What is known of it stands for the next reading.
  const held = [...answered, ...heldBefore.filter(({ node }) => !nodes.has(node))]
  const byTime = new Map(last.steps.map((step) => [step.at, step]))
  const answers = toAnswerSteps(period, given)
  const steps = toSteps(period, []).map((step, index) => ({
    ...(byTime.get(step.at) ?? { ...step, latency: null }),
    answers: answers[index] as AnswerTotals,
  }))
  const overview: Overview = {
    ...last,
    generated_at: new Date(now).toISOString(),
    stale_since: last.stale_since ?? last.generated_at,
    ...toBounds(period),
    steps,
    ...toAnswerFigures(given),
  }
  return { overview, given, held }
}

function toAnswerFigures(given: readonly AnswerStep[]) {
  const answers = addUpAnswers(given)
  return { answers, answered_rate: toAnsweredRate(answers), causes: toCauses(given) }
}

/** The same figures of the period before, for comparison. Null when its statistics are no longer kept. */
async function toBefore(
  context: Context,
  period: Period | undefined,
  mode: Overview['mode'],
): Promise<Overview['before']> {
  if (!period) return null
  const { statistics } = context.store
  const stretch = toStretch(period, mode)
  const steps = toSteps(period, await statistics.outcomes(stretch))
  await nextTurn()
  const totals = addUp(steps)
  const given = await statistics.answers(stretch)
  const answers = addUpAnswers(given)
  return {
    ...toBounds(period),
    steps: steps.map(({ verified, not_verified, failed }) => verified + not_verified + failed),
    request_steps: toAnswerSteps(period, given).map(countAnswers),
    totals,
    answers,
    answered_rate: toAnsweredRate(answers),
    verified_rate: toVerifiedRate(totals),
    latency: toLatency(await statistics.latencies(stretch)),
  }
}

/** What the processes of this node have in memory. */
async function listHeldAnswers(
  { inMemory }: Context,
  { span, from, until, mode }: ReturnType<typeof toStretch>,
): Promise<HeldCount[]> {
  return (await inMemory.answers()).filter(
    (count) =>
      count.span === span && count.at >= from && count.at <= until && (mode === null || count.mode === mode),
  )
}

/**
 * What was counted after a reading, whether it is written by now or not. Of a process that did not answer then, what it had counted
 * before is not known: only what is not written.
 */
function toCountedSince(before: readonly HeldCount[], now: readonly HeldCount[]): AnswerStep[] {
  const toName = ({ node, at, mode, code }: HeldCount) => [node, at, mode, code].join(' ')
  const counts = new Map(before.map((row) => [toName(row), row.count]))
  const nodes = new Set(before.map(({ node }) => node))
  return now.map((row) => ({
    ...row,
    count: nodes.has(row.node) ? Math.max(0, row.count - (counts.get(toName(row)) ?? 0)) : row.unwritten,
  }))
}

/** An outage may last, and each reading adds to the one before. */
function addUpByCode(steps: readonly AnswerStep[]): AnswerStep[] {
  const sums = new Map<string, AnswerStep>()
  for (const { at, code, count } of steps) {
    const name = `${at} ${code}`
    sums.set(name, { at, code, count: count + (sums.get(name)?.count ?? 0) })
  }
  return [...sums.values()]
}

const countAnswers = (answers: AnswerTotals) => Object.values(answers).reduce((sum, count) => sum + count, 0)

function toAnsweredRate(answers: AnswerTotals): number | null {
  const all = countAnswers(answers)
  return all === 0 ? null : (answers.verified + answers.not_verified + answers.pending) / all
}

function toVerifiedRate({ verified, not_verified }: Totals): number | null {
  const all = verified + not_verified
  return all === 0 ? null : verified / all
}

function toCauses(counts: readonly AnswerStep[]): Overview['causes'] {
  const byCode = Map.groupBy(
    counts.filter(({ code }) => !isAnswer(code)),
    ({ code }) => code,
  )
  return [...byCode]
    .map(([code, list]) => ({
      code,
      status: toAnswerStatus(code) ?? null,
      requests: list.reduce((sum, { count }) => sum + count, 0),
    }))
    .sort((one, other) => other.requests - one.requests)
}

type StepParts = {
  readonly steps: readonly Step[]
  readonly latencies: readonly LatencyStep[]
  readonly answers: readonly AnswerTotals[]
}

function toFullSteps({ names }: Period, { steps, latencies, answers }: StepParts): Overview['steps'] {
  const byName = Map.groupBy(latencies, ({ at }) => at)
  return steps.map((step, index) => ({
    ...step,
    latency: toLatency(byName.get(names[index] ?? '') ?? []),
    answers: answers[index] as AnswerTotals,
  }))
}

/** One query per key: there are at most ten, and the table may hold thousands. */
export const nameKeys = ({ store }: Context, counted: readonly KeyCount[]): Promise<Overview['keys']> =>
  Promise.all(
    counted.map(async ({ name: id, count, failed }) => {
      const { name, mode } = (await store.keys.find(id)) ?? { name: 'public sandbox key', mode: 'test' }
      return { id, name, mode, verifications: count, failed }
    }),
  )

type Totals = Pick<Step, 'verified' | 'not_verified' | 'failed'>

const addUp = (steps: readonly Step[]): Totals =>
  steps.reduce(
    (sum, step) => ({
      verified: sum.verified + step.verified,
      not_verified: sum.not_verified + step.not_verified,
      failed: sum.failed + step.failed,
    }),
    { verified: 0, not_verified: 0, failed: 0 },
  )

export function toLatency(counts: Parameters<typeof estimatePercentile>[0]): Overview['latency'] {
  const read = (part: number) => Math.round((estimatePercentile(counts, part) ?? 0) * 100) / 100
  return counts.length === 0 ? null : { p50_ms: read(0.5), p95_ms: read(0.95), p99_ms: read(0.99) }
}

/** A named range, or a range of one's own when `from` is given. */
export type OverviewQuery = {
  readonly range: Range
  readonly mode: Overview['mode']
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Without `to`, a range of one's own ends now. */
export function readPeriod({ range, from, to }: OverviewQuery, now: number): Period {
  if (from === undefined) {
    if (to !== undefined) throw toProblem('from', 'is required with to')
    return toPeriod(range, now)
  }
  const [start, end] = [Date.parse(from), to === undefined ? now : Date.parse(to)]
  if (end <= start)
    throw toProblem(
      to === undefined ? 'from' : 'to',
      `must be ${to === undefined ? 'in the past' : 'later than from'}`,
    )
  const period = toCustomPeriod(start, end, now)
  if (!period) throw toProblem('from', `must be at most ${MAX_STEPS} days before the end`)
  return period
}

const toProblem = (field: string, rule: string) =>
  new AppError('validation_failed', { errors: { [field]: [`${field} ${rule}`] } })

export const toStretch = ({ span, names }: Period, mode: Overview['mode']) => ({
  span,
  from: names[0] ?? '',
  until: names.at(-1) ?? '',
  mode: mode === 'all' ? null : mode,
})
