import { MINUTE_MS } from '../../contract/time.ts'
import { SourceError } from '../source.ts'
import type { Trouble } from '../trouble.ts'

/** What lasts until the operator mends it: it ends with the next answer. */
const LASTING = ['no_funds', 'credentials_refused', 'unknown_path'] as const
/** What comes with some questions only: it ends when it was not seen for a while. */
const OCCASIONAL = ['unlisted_answer', 'question_rejected', 'unreadable_phone'] as const

/** What only the operator can mend. The last one is a source that finds nearly no number: a wrong product, a test address. */
export const WARNING_REASONS = [...LASTING, ...OCCASIONAL, 'mostly_not_found'] as const
export type WarningReason = (typeof WARNING_REASONS)[number]

/** What came of a call: a failure, or whether somebody was found. */
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
/** The last so many answers are looked at, however long they took to come: small shops ask rarely. */
const ANSWERS = 50
const LEAST_ANSWERS = 20
const SUSPICIOUS_SHARE = 0.95
/** Lower than that at which it starts, so that it does not flicker. */
const SOUND_SHARE = 0.9

const REASONS: Partial<Record<Trouble, WarningReason>> = {
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
  /** When each was last told. */
  const active = new Map<WarningReason, number>()
  const seen = new Map<WarningReason, number>()
  const share = createNotFoundShare()
  const start = (reason: WarningReason) => {
    seen.set(reason, now())
    const toldAt = active.get(reason)
    if (toldAt !== undefined && now() - toldAt < REPEAT_MS) return
    active.set(reason, now())
    onEvent({ reason, state: toldAt === undefined ? 'started' : 'continues' })
  }
  const end = (reason: WarningReason) => {
    if (active.delete(reason)) onEvent({ reason, state: 'ended' })
  }
  const recordAnswer = (isFound: boolean) => {
    for (const reason of LASTING) end(reason)
    for (const reason of OCCASIONAL) if (now() - (seen.get(reason) ?? 0) >= REPEAT_MS) end(reason)
    const part = share.add(isFound)
    if (part >= SUSPICIOUS_SHARE) start('mostly_not_found')
    else if (part < SOUND_SHARE) end('mostly_not_found')
  }
  return {
    record: (outcome) => {
      if (!(outcome instanceof SourceError)) return recordAnswer(outcome === 'found')
      const reason = outcome.trouble && REASONS[outcome.trouble]
      if (reason) start(reason)
    },
    list: () => [...active.keys()],
  }
}

/** The part of the last answers that found nobody; 0 while there are few. */
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
      return count < LEAST_ANSWERS ? 0 : notFound / Math.min(count, ANSWERS)
    },
  }
}
