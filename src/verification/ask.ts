import { isVirtualNin } from '../contract/person.ts'
import { AppError } from '../errors.ts'
import type { KeptResult } from '../ledger/commit.ts'
import { NotBegun, type SourceAttempt, sourceFailedError } from '../sources/failover.ts'
import type { Pay } from '../sources/guard/call-guard.ts'
import type { RecordRows } from '../sources/lookup.ts'
import { type Answer, type LocalSource, type Source, SourceError } from '../sources/source.ts'
import type { Sources } from '../sources/source-chain.ts'
import { ranMs, withDeadline } from '../telemetry/running-clock.ts'
import type { Commits } from './commits.ts'
import type { GuessEnd } from './guess-limit.ts'
import type { IdType } from './id-type.ts'
import { isSourceFailure } from './idempotency.ts'
import { type Decision, isFailedGuess, isPhoneOf, match, toFailed } from './match.ts'
import type { Reuse } from './reuse.ts'
import type { Verification } from './verification.ts'
import { toGuess, type VerificationRequest } from './verification-request.ts'

/** The only source of an operation, inside this process. */
export type LocalOnly = { readonly name: string; readonly local: LocalSource }

/** A caller waits 15 seconds at most. The rest is for writing the outcome. */
export const DEADLINE_MS = 14_500

/** Asks a source inside this process. It needs no guard and no deadline. A promise only if the source needs one. */
export function askLocal<T>(
  verification: Verification<T>,
  { name, local }: LocalOnly,
  rows: RecordRows,
): Decision<T> | Promise<Decision<T>> {
  const { idType, request } = verification
  const startedAt = performance.now()
  try {
    const answer = idType.findLocal(local, request.number, request.phone, rows)
    if (!(answer instanceof Promise)) return conclude(verification, name, startedAt, answer)
    return answer
      .then((found) => conclude(verification, name, startedAt, found))
      .catch((error) => toLocalFailure(verification, name, startedAt, error))
  } catch (error) {
    return toLocalFailure(verification, name, startedAt, error)
  }
}

function conclude<T>(
  verification: Verification<T>,
  name: string,
  startedAt: number,
  answer: Answer<T>,
): Decision<T> {
  addLocalAttempt(verification, name, answer.found ? 'found' : 'not_found', startedAt)
  return match(verification.idType, verification.request, answer)
}

function toLocalFailure<T>(
  verification: Verification<T>,
  name: string,
  startedAt: number,
  error: unknown,
): Decision<T> {
  const isSourceError = error instanceof SourceError
  if (verification.sourceAttempts.length === 0)
    addLocalAttempt(verification, name, isSourceError ? error.reason : 'error', startedAt)
  return toFailed(isSourceError ? sourceFailedError(error) : error, undefined)
}

function addLocalAttempt<T>(
  { request, sourceAttempts }: Verification<T>,
  name: string,
  result: SourceAttempt['result'],
  startedAt: number,
): void {
  sourceAttempts.push(toAttempt({ name }, result, startedAt))
  request.trace?.startAttempt(name, false, startedAt).end(result)
}

/** A failure is an outcome like any other: it is recorded before the caller is told. */
export async function askAndMatch<T>(verification: Verification<T>, commits: Commits): Promise<Decision<T>> {
  const { deps, idType, request, budget } = verification
  try {
    // Again: the sources may have changed while a verification was in the queue.
    requireSource(deps.sources, idType, request)
    const reusable = deps.reuse ? await findReusable(deps.reuse, verification) : undefined
    return match(idType, request, reusable ?? (await askExternal(verification, commits)))
  } catch (error) {
    if (error instanceof NotBegun) throw error
    return toFailed(error, budget)
  }
}

/** Asks the sources in order. Identical requests of one key share the calls (single flight). */
function askExternal<T>(
  {
    deps: { singleFlight, askNext },
    idType,
    request,
    reference,
    paid,
    seen,
    sources,
    sourceAttempts,
  }: Verification<T>,
  commits: Commits,
): Promise<Answer<T>> {
  const { caller, number, phone, place } = request
  const msLeft = toMsLeft(request)
  const ask = () =>
    withDeadline(msLeft, (signal) => {
      const call = { signal, reference }
      const queries = sources
        .filter(({ source }) => idType.isOfferedBy(source, request))
        .map(({ source, guard }) => ({
          name: source.name,
          guard,
          query: (traceparent?: string) =>
            idType.find(source, request, traceparent === undefined ? call : { ...call, traceparent }),
        }))
      // Details are part of the question: some vendors are sent them.
      return singleFlight.share([caller.lineage, idType.kind, number, toGuess(request)], queries, {
        sourceAttempts,
        signal,
        // A virtual NIN is issued for one vendor: another does not know it.
        continueOnNotFound: askNext || isVirtualNin(number),
        matches: (record) => isPhoneOf(phone, idType.phonesIn(record)),
        markWatchlisted: idType.markWatchlisted,
        begin: () => (place ? place.beforePaying(commits.begin) : commits.begin()),
        pay: toPay(commits, place),
        paid,
        seen,
        person: number,
        lineage: caller.lineage,
        secrets: [number.replace(/\D/g, ''), phone],
        trace: request.trace,
      })
    })
  return place ? place.whileWaiting(ask) : ask()
}

/** Waits no longer than the request may wait for the store. Money that is paid later is given back. */
function toPay({ pay }: Commits, place: VerificationRequest['place']): Pay {
  if (!place) return pay
  return async (name) => {
    const paying = pay(name)
    try {
      return await place.beforePaying(() => paying)
    } catch (error) {
      void paying.then((paid) => typeof paid !== 'string' && paid.refund()).catch(() => {})
      throw error
    }
  }
}

function toMsLeft({ startedAt }: VerificationRequest): number {
  const left = DEADLINE_MS - ranMs(startedAt)
  if (left <= 0) throw new AppError('source_timeout')
  return left
}

/**
 * An earlier result, if its phone is the phone of the request. Otherwise the sources are asked, so that the time does not tell
 * whether a person is known here.
 */
async function findReusable<T>(
  reuse: Reuse,
  { idType, request, sourceAttempts, seen }: Verification<T>,
): Promise<Answer<T> | undefined> {
  const { number, phone } = request
  if (!mayReuse(request)) return undefined
  const startedAt = performance.now()
  const reused = await reuse.find<T>(idType.kind, number)
  if (!reused || !isPhoneOf(phone, idType.phonesIn(reused.record))) return undefined
  sourceAttempts.push(toAttempt({ name: reused.source }, 'reused', startedAt))
  const { record } = reused
  // A source that is down by now may have called the number blocked in an earlier attempt.
  return { found: true, record: seen.isWatchlisted ? (idType.markWatchlisted?.(record) ?? record) : record }
}

const mayReuse = ({ refusesReuse, caller, number }: VerificationRequest): boolean =>
  !refusesReuse && caller.mode === 'live' && !isVirtualNin(number)

/**
 * How the guess ends. A failure is unanswered where a source, or perhaps an earlier result, has the number with another phone: with the
 * right one, the caller would have had the record. The answer must not tell whether there is an earlier result, so it does not matter here.
 */
export function toGuessEnd<T>(
  { deps, request, seen }: Pick<Verification<T>, 'deps' | 'request' | 'seen'>,
  decision: Decision<T>,
): GuessEnd {
  if (isFailedGuess(decision)) return 'failed'
  if (!('error' in decision)) return 'withdrawn'
  // Whatever failed afterwards, also the store.
  if (seen.hasMiss) return 'unanswered'
  return deps.reuse && mayReuse(request) && isSourceFailure(decision.error) ? 'unanswered' : 'withdrawn'
}

/** A verified record of an external source, to be kept for reuse. Records of the registry are here already. */
export function toKept<T>(
  { deps: { reuse }, idType, request, sources, sourceAttempts }: Verification<T>,
  decision: Decision<T>,
): KeptResult | undefined {
  if (!reuse || !('record' in decision)) return undefined
  const name = sourceAttempts.findLast(({ result }) => result === 'found')?.name
  const from = sources.find(({ source }) => source.name === name)
  if (!name || !from?.source.isExternal || isVirtualNin(request.number)) return undefined
  return reuse.toKept(idType.kind, request.number, { record: decision.record, source: name })
}

const toAttempt = (
  { name }: Pick<Source, 'name'>,
  result: SourceAttempt['result'],
  startedAt: number,
): SourceAttempt => ({ name, result, ms: Math.round(performance.now() - startedAt) })

const NO_SOURCE = 'is a virtual NIN, which no source of this server accepts: send the 11 digits of the NIN'

/** Refuses a virtual NIN where no source accepts one, and a request without names where all sources need them. Before anything is counted, stored or asked. */
export function requireSource<T>(
  sources: Sources,
  { kind, isOfferedBy, needsOf }: IdType<T>,
  request: VerificationRequest,
): void {
  const chain = sources[request.caller.mode][kind]
  if (chain.some(({ source }) => isOfferedBy(source, request))) return
  const errors: Record<string, string[]> = {}
  if (isVirtualNin(request.number) && !chain.some(({ source }) => source.acceptsVirtualNin))
    errors[kind] = [`${kind} ${NO_SOURCE}`]
  else {
    const needs = chain.map(({ source }) => needsOf(source, request.number) ?? [])
    for (const name of needs.find((each) => each.length > 0) ?? [])
      if (request.details?.[name] === undefined)
        errors[name] = [`${name} is required by the source of this server`]
  }
  // Otherwise no source is available, which is no fault of the request.
  if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
}
