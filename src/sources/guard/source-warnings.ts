import { MINUTE_MS } from '../../contract/time.ts'
import { SourceError } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'

/** Lasts until the operator fixes it: it ends with the next answer. */
export const LASTING_WARNINGS = ['no_funds', 'credentials_refused', 'unknown_path'] as const
/** Occurs with some requests only: it ends when it has not occurred for five minutes. */
const OCCASIONAL = ['unlisted_answer', 'question_rejected', 'unreadable_phone'] as const

/** Problems that only the operator can fix. `mostly_not_found` points to a wrong product or a test address. */
export const WARNING_REASONS = [...LASTING_WARNINGS, ...OCCASIONAL, 'mostly_not_found'] as const
type WarningReason = (typeof WARNING_REASONS)[number]

/** The outcome of a call: a failure, or whether a record was found. */
export type CallOutcome = SourceError | 'found' | 'not_found'

export type WarningEvent = {
  readonly reason: WarningReason
  readonly state: 'started' | 'continues' | 'ended'
}

export type SourceWarnings = {
  readonly record: (outcome: CallOutcome) => void
  readonly list: () => WarningReason[]
}

type Options = {
  readonly onEvent?: ((event: WarningEvent) => void) | undefined
  readonly now?: () => number
}

const REPEAT_MS = 5 * MINUTE_MS
/** The share is taken over this many answers, not over a time: some servers make few calls. */
const ANSWERS = 50
const MIN_ANSWERS = 20
const SUSPICIOUS_SHARE = 0.95
/** Lower than the share at which the warning starts, so that it does not flap. */
const SOUND_SHARE = 0.9

const REASONS: Partial<Record<SourceProblem, WarningReason>> = {
  funds: 'no_funds',
  credentials: 'credentials_refused',
  unknown_account: 'credentials_refused',
  unknown_path: 'unknown_path',
  unlisted: 'unlisted_answer',
  contradictory: 'unlisted_answer',
  rejected: 'question_rejected',
  no_phone: 'unreadable_phone',
  unreadable_phone: 'unreadable_phone',
  mixed_phones: 'unreadable_phone',
}

export function createSourceWarnings({
  onEvent = () => {},
  now = () => performance.now(),
}: Options = {}): SourceWarnings {
  /** When each warning was last reported. */
  const active = new Map<WarningReason, number>()
  const seen = new Map<WarningReason, number>()
  const share = createNotFoundShare()
  const start = (reason: WarningReason) => {
    seen.set(reason, now())
    const reportedAt = active.get(reason)
    if (reportedAt !== undefined && now() - reportedAt < REPEAT_MS) return
    active.set(reason, now())
    onEvent({ reason, state: reportedAt === undefined ? 'started' : 'continues' })
  }
  const end = (reason: WarningReason) => {
    if (active.delete(reason)) onEvent({ reason, state: 'ended' })
  }
  const recordAnswer = (isFound: boolean) => {
    for (const reason of LASTING_WARNINGS) end(reason)
    for (const reason of OCCASIONAL) if (now() - (seen.get(reason) ?? 0) >= REPEAT_MS) end(reason)
    const notFoundShare = share.add(isFound)
    if (notFoundShare >= SUSPICIOUS_SHARE) start('mostly_not_found')
    else if (notFoundShare < SOUND_SHARE) end('mostly_not_found')
  }
  return {
    record: (outcome) => {
      if (!(outcome instanceof SourceError)) return recordAnswer(outcome === 'found')
      const reason = outcome.problem && REASONS[outcome.problem]
      if (reason) start(reason)
    },
    list: () => [...active.keys()],
  }
}

/** The share of the last answers that found no record; 0 while there are too few. */
function createNotFoundShare() {
  const answers = new Uint8Array(ANSWERS)
  let count = 0
  let notFound = 0
  return {
    add: (isFound: boolean): number => {
      const slot = count % ANSWERS
      notFound += (isFound ? 0 : 1) - (answers[slot] as number)
      answers[slot] = isFound ? 0 : 1
      count += 1
      return count < MIN_ANSWERS ? 0 : notFound / Math.min(count, ANSWERS)
    },
  }
}
