import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import type { Settings, ValuesOf } from '../settings.ts'
import { withDeadline } from './deadline.ts'
import { HIDDEN } from './record.ts'
import { withRetryAfter } from './retry-after.ts'
import { type Answer, type Call, type Source, SourceError } from './source.ts'
import type { Trouble } from './trouble.ts'
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
          if (answer.found) requirePerson(name, ask.nin, answer.record.nin_number, answer)
          return answer
        }),
    }),
    ...(findBvn && {
      findBvn: (ask, call) =>
        attempt(name, attemptMs, call, async (limited) => {
          const answer = await findBvn(ask, limited)
          if (answer.found) requirePerson(name, ask.bvn, answer.record.bvn_number, answer)
          return answer
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

type Found = Extract<Answer<NinRecord | BvnRecord>, { found: true }>

/** The record is about the number that was asked for, and about somebody who can be told from others. */
function requirePerson(name: string, asked: string, number: string, { record, unproven }: Found): void {
  const wrong = (trouble: Trouble) => new SourceError(name, 'bad_response', { trouble })
  if (number !== asked) throw wrong('wrong_person')
  const info = record.personal_info
  const names = [info.first_name, info.middle_name, info.last_name, info.full_name]
  if (names.every((part) => part === '')) throw wrong('unknown_shape')
  const phones = [info.phone_number, ('phone_number_2' in info && info.phone_number_2) || ''].filter(
    (phone) => phone,
  )
  if (unproven && phones.length === 0) throw wrong('unknown_shape')
  // A hidden phone fits nobody's: everybody would be denied.
  if (phones.length > 0 && phones.every((phone) => phone === HIDDEN)) throw wrong('unknown_shape')
}
