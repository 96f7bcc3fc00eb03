import { AppError } from '../errors.ts'
import { withDeadline } from '../sources/deadline.ts'
import type { SourceAttempt } from '../sources/search.ts'
import type { Answer } from '../sources/source.ts'
import { isPhoneOf } from './match.ts'
import type { Subject } from './subject.ts'
import type { VerificationDeps, VerificationRequest } from './verification-request.ts'

/** A caller waits 15 seconds at most: what is left of them when the sources are asked, less what writing the outcome takes. */
const DEADLINE_MS = 14_500

/** Asks the sources; the same question by the same key at the same time is asked once. */
export function askSources<T extends object>(
  { sources, singleFlight, askNext }: VerificationDeps,
  { caller, startedAt, claimed }: VerificationRequest,
  subject: Subject<T>,
  reference: string,
  sourceAttempts: SourceAttempt[],
): Promise<Answer<T>> {
  const { kind, number, phone } = subject
  const left = DEADLINE_MS - (performance.now() - startedAt)
  if (left <= 0) throw new AppError('source_timeout')
  const line = sources[caller.mode][kind]
  const ask = (signal: AbortSignal | undefined) =>
    singleFlight.share(
      [caller.lineage, kind, number, phone],
      subject.toAsks(line, { signal: signal ?? NEVER, reference }),
      {
        sourceAttempts,
        signal,
        continueOnNotFound: askNext,
        matches: (record) => isPhoneOf(phone, subject.phonesIn(record)),
        markWatchlisted: subject.markWatchlisted,
        paidCalls: claimed?.paidCalls,
        secrets: [number, phone],
      },
    )
  // The store has time limits of its own; a timer and a signal for each request would cost more than asking it.
  return line.some(({ source }) => source.isExternal) ? withDeadline(left, ask) : ask(undefined)
}

const NEVER = new AbortController().signal

/**
 * An earlier result with this phone. One with another phone is passed over, and the sources are asked: whoever guesses at
 * phones must not tell by the time that a person is known here.
 */
export async function findReused<T extends object>(
  { reuse }: VerificationDeps,
  { caller, fresh }: VerificationRequest,
  subject: Subject<T>,
  sourceAttempts: SourceAttempt[],
): Promise<T | undefined> {
  if (!reuse || fresh || caller.mode !== 'live') return undefined
  const startedAt = performance.now()
  const reused = await reuse.find<T>(subject.kind, subject.number)
  if (!reused || !isPhoneOf(subject.phone, subject.phonesIn(reused.record))) return undefined
  sourceAttempts.push({
    name: reused.source,
    result: 'reused',
    ms: Math.round(performance.now() - startedAt),
  })
  return reused.record
}

/** Only what came from outside is worth keeping: the registry is here already. */
export async function keepForReuse<T extends object>(
  { reuse, sources }: VerificationDeps,
  { caller }: VerificationRequest,
  { kind, number }: Subject<T>,
  record: T,
  sourceAttempts: readonly SourceAttempt[],
): Promise<void> {
  const name = sourceAttempts.findLast(({ result }) => result === 'found')?.name
  const from = sources[caller.mode][kind].find(({ source }) => source.name === name)
  if (reuse && name && from?.source.isExternal) await reuse.keep(kind, number, { record, source: name })
}
