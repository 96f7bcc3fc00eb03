import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { PENDING_NUMBERS, SLOW_NUMBER } from '../../sources/sandbox/index.ts'
import { DEADLINE_MS } from '../ask.ts'
import type { IdType } from '../id-type.ts'
import type { VerificationResponse } from '../replay.ts'
import { requireSource } from '../require-source.ts'
import type { VerificationDeps } from '../verification-deps.ts'
import {
  type Incoming,
  type Inputs,
  toVerificationRequest,
  type VerificationRequest,
} from '../verification-request.ts'
import { verify } from '../verify.ts'
import { PREFERENCE_APPLIED } from './pending-response.ts'
import { type Preference, readPreference } from './preference.ts'
import { verifyLater } from './verify-later.ts'

/** How long the numbers of the sandbox that are answered later take. */
const SANDBOX_DELAY_MS = 5000
const NO_PREFERENCE: Preference = { isAsync: false, wait: undefined }

/** A verification now, or through the queue if the caller prefers that. */
export function respond<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  incoming: Incoming,
  inputs: Inputs,
): Promise<VerificationResponse> {
  const request = toVerificationRequest(incoming, inputs, deps.config.purposes)
  requireSource(deps.sources, idType, request)
  const { prefer } = incoming.headers
  if (request.caller.mode === 'test') return respondInSandbox(deps, idType, request, incoming.headers)
  const { isAsync, wait } = prefer === undefined ? NO_PREFERENCE : readPreference(String(prefer))
  return isAsync ? respondLater(deps, idType, request, wait, 0) : verify(deps, idType, request)
}

function respondLater<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  wait = 0,
  delayMs = 0,
): Promise<VerificationResponse> {
  const waitMs = Math.min(wait * 1000, deps.queue.settings.maxWaitMs)
  return verifyLater(deps, idType, request, { waitMs, delayMs }).then(withPreferenceApplied)
}

/** Some numbers of the sandbox are answered later, or as late as a real time-out. */
function respondInSandbox<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  { prefer, 'x-sandbox-delay': delay }: IncomingHttpHeaders,
): Promise<VerificationResponse> {
  const { number } = request
  const { isAsync, wait } = prefer === undefined ? NO_PREFERENCE : readPreference(String(prefer))
  const delayMs = PENDING_NUMBERS.includes(number) ? SANDBOX_DELAY_MS : 0
  if (isAsync) return respondLater(deps, idType, request, wait, delayMs)
  if (delayMs > 0) return verifyLater(deps, idType, request, { waitMs: 0, delayMs })
  const isSlow = number === SLOW_NUMBER && (wait !== undefined || delay === 'real')
  return isSlow ? verifySlowly(deps, idType, request) : verify(deps, idType, request)
}

async function verifySlowly<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
): Promise<VerificationResponse> {
  const { place } = request
  if (place?.mayWait() === false) throw new AppError('overloaded')
  const wait = () => pause(DEADLINE_MS)
  await (place ? place.whileWaiting(wait) : wait())
  return verify(deps, idType, request)
}

const withPreferenceApplied = (response: VerificationResponse): VerificationResponse =>
  response.status === 202
    ? { ...response, headers: [...PREFERENCE_APPLIED, ...(response.headers ?? [])] }
    : response
