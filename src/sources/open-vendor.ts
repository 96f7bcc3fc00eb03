import type { Settings, ValuesOf } from '../settings/setting.ts'
import { withDeadline } from './deadline.ts'
import { readDecoy } from './decoy.ts'
import { requirePerson } from './require-person.ts'
import { withRetryAfter } from './retry-after.ts'
import { type Call, type Source, SourceError } from './source.ts'
import { VENDORS, type Vendor, type VendorName, type VendorValues } from './vendors.ts'

type OpenOptions = {
  readonly vendors: VendorValues
  readonly allowPrivate: boolean
  /** Shorter in tests. */
  readonly attemptMs?: number
}

/** Opens a vendor with its own connections. */
export async function openVendor(
  name: VendorName,
  { vendors, allowPrivate, attemptMs }: OpenOptions,
): Promise<Source> {
  const values = vendors[name] as ValuesOf<Settings> & { readonly url: string; readonly traceparent?: string }
  // Loaded on demand: a server without vendors starts sooner.
  const { openHttp, ATTEMPT_MS } = await import('./http.ts')
  const limitMs = attemptMs ?? ATTEMPT_MS
  const sendsTraceparent = values.traceparent === 'on'
  const { url } = values
  const { send, close } = openHttp({ source: name, url, allowPrivate, sendsTraceparent, attemptMs: limitMs })
  const { create } = await (VENDORS[name] as unknown as Vendor).load()
  return { ...withRules(create(values, { send }), limitMs), close }
}

/** The rules for every vendor: one time limit per call, and a record of the right person or no answer. */
function withRules(source: Source, attemptMs: number): Source {
  const { name, findNin, findBvn } = source
  return {
    ...source,
    ...(findNin && {
      findNin: (query, call) =>
        attempt(name, attemptMs, call, async (limited) => {
          const answer = await findNin(query, limited)
          if (!answer.found) readDecoy('nin')
          return answer.found
            ? requirePerson(name, { number: query.nin, phone: query.phone }, answer)
            : answer
        }),
    }),
    ...(findBvn && {
      findBvn: (query, call) =>
        attempt(name, attemptMs, call, async (limited) => {
          const answer = await findBvn(query, limited)
          if (!answer.found) readDecoy('bvn')
          return answer.found
            ? requirePerson(name, { number: query.bvn, phone: query.phone }, answer)
            : answer
        }),
    }),
  }
}

/** The time limit covers the whole call, fetching a token included. */
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

/** An unexpected error in a vendor's code must not stop the search at other sources. */
function toFailure(name: string, error: unknown, isCut: boolean): SourceError {
  if (!(error instanceof SourceError))
    return new SourceError(name, 'bad_response', { problem: 'unknown_shape' })
  const { reason, problem, sent } = error
  if (reason !== 'timeout' || !isCut) return error
  return new SourceError(name, reason, { problem, sent, fault: 'deadline' })
}
