import type { Settings, ValuesOf } from '../settings/setting.ts'
import { withDeadline } from './deadline.ts'
import { readDecoy } from './decoy.ts'
import { requirePerson } from './require-person.ts'
import { withRetryAfter } from './retry-after.ts'
import { type Call, type Source, SourceError } from './source.ts'
import { VENDORS, type Vendor, type VendorName, type VendorValues } from './vendors.ts'

export type OpenOptions = {
  readonly vendors: VendorValues
  readonly allowPrivate: boolean
  /** Shorter in tests. */
  readonly attemptMs?: number
}

/** A vendor with its connections, ready to be asked. */
export async function openVendor(
  name: VendorName,
  { vendors, allowPrivate, attemptMs }: OpenOptions,
): Promise<Source> {
  const values = vendors[name] as ValuesOf<Settings> & { readonly url: string }
  // Loaded where it is needed: a server without vendors starts sooner.
  const { openHttp, ATTEMPT_MS } = await import('./http.ts')
  const limitMs = attemptMs ?? ATTEMPT_MS
  const { send, close } = openHttp({ source: name, url: values.url, allowPrivate, attemptMs: limitMs })
  const { create } = await (VENDORS[name] as unknown as Vendor).load()
  return { ...guard(create(values, { send }), limitMs), close }
}

/** What holds for every vendor, whatever it sends: one time limit for one question, and the right person or no answer. */
function guard(source: Source, attemptMs: number): Source {
  const { name, findNin, findBvn } = source
  return {
    ...source,
    ...(findNin && {
      findNin: (ask, call) =>
        attempt(name, attemptMs, call, async (limited) => {
          const answer = await findNin(ask, limited)
          if (!answer.found) readDecoy('nin')
          return answer.found ? requirePerson(name, { number: ask.nin, phone: ask.phone }, answer) : answer
        }),
    }),
    ...(findBvn && {
      findBvn: (ask, call) =>
        attempt(name, attemptMs, call, async (limited) => {
          const answer = await findBvn(ask, limited)
          if (!answer.found) readDecoy('bvn')
          return answer.found ? requirePerson(name, { number: ask.bvn, phone: ask.phone }, answer) : answer
        }),
    }),
  }
}

/** All that one question takes together, tokens included. */
const attempt = <T>(
  name: string,
  attemptMs: number,
  call: Call,
  work: (call: Call) => Promise<T>,
): Promise<T> =>
  withDeadline(
    attemptMs,
    async (signal) => {
      try {
        return await withRetryAfter((onRetryAfter) => work({ ...call, signal, onRetryAfter }))
      } catch (error) {
        throw toFailure(name, error, call.signal.aborted)
      }
    },
    call.signal,
  )

/** A vendor's answer may surprise our code in a way nobody thought of: that must not stop the search at other sources. */
function toFailure(name: string, error: unknown, isCut: boolean): SourceError {
  if (!(error instanceof SourceError))
    return new SourceError(name, 'bad_response', { trouble: 'unknown_shape' })
  const { reason, trouble, sent } = error
  if (reason !== 'timeout' || !isCut) return error
  return new SourceError(name, reason, { trouble, sent, fault: 'deadline' })
}
