import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { PENDING_NUMBERS, SLOW_NUMBER } from '../../sources/sandbox/index.ts'
import { DEADLINE_MS, requireSource } from '../ask.ts'
import type { IdType } from '../id-type.ts'
import type { VerificationResponse } from '../replay.ts'
import type { VerificationDeps } from '../verification-deps.ts'
import {
  type Incoming,
  type Inputs,
  toVerificationRequest,
  type VerificationRequest,
} from '../verification-request.ts'
import { verify } from '../verify.ts'
import { PREFERENCE_APPLIED } from './pending-response.ts'
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

/** What the header Prefer (RFC 7240) asks for, as far as it is known here. */
type Preference = {
  readonly isAsync: boolean
  /** In seconds. */
  readonly wait: number | undefined
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Unknown and malformed preferences are ignored, and of several with one name the first counts, as RFC 7240 says. */
export function readPreference(header: string | undefined): Preference {
  const preferences = new Map<string, string>()
  for (const part of splitOutsideQuotes(header ?? '', ',')) {
    const [first = ''] = splitOutsideQuotes(part, ';')
    const mark = first.indexOf('=')
    const name = (mark === -1 ? first : first.slice(0, mark)).trim().toLowerCase()
    const value = mark === -1 ? '' : unquote(first.slice(mark + 1).trim())
    if (NAME.test(name) && !preferences.has(name)) preferences.set(name, value)
  }
  const wait = preferences.get('wait') ?? ''
  return {
    isAsync: preferences.get('respond-async') === '',
    wait: /^\d{1,9}$/.test(wait) ? Number(wait) : undefined,
  }
}

const unquote = (text: string) =>
  /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : text

function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let part = ''
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index] as string
    if (isQuoted && character === '\\') {
      part += character + (text[++index] ?? '')
      continue
    }
    if (character === '"') isQuoted = !isQuoted
    if (character === separator && !isQuoted) {
      parts.push(part)
      part = ''
    } else part += character
  }
  return [...parts, part]
}
