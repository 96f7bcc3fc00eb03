import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import type { Kind } from '../crypto/blind-index.ts'
import type { Settings, ValuesOf } from '../settings/setting.ts'
import { withDeadline } from './deadline.ts'
import { readDecoy } from './decoy.ts'
import { saysFailure } from './failure-signs.ts'
import { withWatchList } from './record.ts'
import { requirePerson } from './require-person.ts'
import { withRetryAfter } from './retry-after.ts'
import { type Answer, type Call, type HttpReply, type Send, type Source, SourceError } from './source.ts'
import { VENDORS, type Vendor, type VendorName, type VendorValues } from './vendors.ts'
import { refuseContradiction } from './wire.ts'

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
  const sendObserved: Send = async (request, call) => {
    const reply = await send(request, call)
    call.onReply?.(reply)
    return reply
  }
  return { ...withRules(create(values, { send: sendObserved }), limitMs), close }
}

/** The rules for every vendor: one time limit per call, and a record of the right person or no answer. */
function withRules(source: Source, attemptMs: number): Source {
  const { name, findNin, findBvn, fetchCatalogue } = source
  return {
    ...source,
    ...(findNin && {
      findNin: (query, call) =>
        attempt(name, attemptMs, call, (limited) =>
          findPerson(source, 'nin', { number: query.nin, phone: query.phone }, limited, (observed) =>
            findNin(query, observed),
          ),
        ),
    }),
    ...(findBvn && {
      findBvn: (query, call) =>
        attempt(name, attemptMs, call, (limited) =>
          findPerson(source, 'bvn', { number: query.bvn, phone: query.phone }, limited, (observed) =>
            findBvn(query, observed),
          ),
        ),
    }),
    ...(fetchCatalogue && {
      fetchCatalogue: async (current, call) => {
        let isContradicted = false
        const onReply = ({ status, body }: HttpReply) => {
          if (status === 200 && saysFailure(body)) isContradicted = true
        }
        const lists = await fetchCatalogue(current, { ...call, onReply })
        refuseContradiction(name, isContradicted)
        if (JSON.stringify(lists).includes('\ufffd'))
          throw new SourceError(name, 'bad_response', { problem: 'unknown_shape' })
        return lists
      },
    }),
  }
}

/** The reply with the record is the last one: a token is fetched before. */
async function findPerson<T extends NinRecord | BvnRecord>(
  { name }: Source,
  kind: Kind,
  requested: { readonly number: string; readonly phone: string },
  call: Call,
  find: (call: Call) => Promise<Answer<T>>,
): Promise<Answer<T>> {
  let last: HttpReply | undefined
  const onReply = (reply: HttpReply) => {
    last = reply
  }
  const answer = await find({ ...call, onReply })
  if (!answer.found) {
    readDecoy(kind)
    return answer
  }
  refuseContradiction(name, saysFailure(last?.body))
  return requirePerson(name, requested, { ...answer, record: withWatchList(answer.record, last?.body) })
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
