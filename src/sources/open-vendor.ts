import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { isVirtualNin, toCanonicalNin, toLocalPhone } from '../contract/person.ts'
import { splitPhones, UNREADABLE } from '../contract/record.ts'
import type { Kind } from '../crypto/mac.ts'
import { withDeadline } from '../telemetry/running-clock.ts'
import { completeBvn, completeNin, toNumber, toText, withWatchList } from './record.ts'
import { namesOtherNumber, refuseContradiction, saysFailure, withRetryAfter } from './reply.ts'
import { toBvnRecord } from './sandbox/bvn-record.ts'
import { toNinRecord } from './sandbox/nin-record.ts'
import { type Answer, type Call, type HttpReply, type Send, type Source, SourceError } from './source.ts'
import type { SourceProblem } from './source-problem.ts'
import { DECOY } from './vendor-file/sample-reply.ts'
import type { VendorValues } from './vendors.ts'

type OpenOptions = {
  readonly vendors: VendorValues
  readonly allowPrivate: boolean
  /** Shorter in tests. */
  readonly attemptMs?: number
  /** Called with the price of a call where the vendor says it, in kobo. */
  readonly onPrice?: ((kind: Kind, kobo: number) => void) | undefined
  /** Called with every reply, also that to a request for a token. */
  readonly onReply?: (reply: HttpReply) => void
}

/** Opens a vendor with its own connections. */
export async function openVendor(
  name: string,
  { vendors, allowPrivate, attemptMs, onPrice, onReply }: OpenOptions,
): Promise<Source> {
  const inUse = vendors[name]
  if (!inUse) throw new Error(`${name} is not configured`)
  const { vendor, url, values } = inUse
  // Loaded on demand: a server without vendors starts sooner.
  const { openHttp, ATTEMPT_MS } = await import('./http.ts')
  const limitMs = attemptMs ?? ATTEMPT_MS
  const sendsTraceparent = values.traceparent === 'on'
  const { send, close } = openHttp({ source: name, url, allowPrivate, sendsTraceparent, attemptMs: limitMs })
  const { create } = await vendor.load()
  const sendObserved: Send = async (request, call) => {
    const reply = await send(request, call)
    call.onReply?.(reply)
    onReply?.(reply)
    return reply
  }
  return { ...withRules(create(values, { send: sendObserved }), limitMs, onPrice), close }
}

/** The rules for every vendor: one time limit per call, and a record of the right person or no answer. */
function withRules(source: Source, attemptMs: number, onPrice: OpenOptions['onPrice']): Source {
  const { name, findNin, findBvn, fetchCatalogue, saysNotSold = () => false } = source
  return {
    ...source,
    ...(findNin && {
      findNin: (query, call) =>
        attempt(name, attemptMs, call, (limited) =>
          findPerson(source, 'nin', { number: query.nin, phone: query.phone }, limited, (observed) =>
            findNin(query, observed).then((answer) => reportPrice(answer, 'nin', onPrice)),
          ),
        ),
    }),
    ...(findBvn && {
      findBvn: (query, call) =>
        attempt(name, attemptMs, call, (limited) =>
          findPerson(source, 'bvn', { number: query.bvn, phone: query.phone }, limited, (observed) =>
            findBvn(query, observed).then((answer) => reportPrice(answer, 'bvn', onPrice)),
          ),
        ),
    }),
    ...(fetchCatalogue && {
      fetchCatalogue: async (current, call) => {
        let isContradicted = false
        const onReply = ({ status, body }: HttpReply) => {
          if (status === 200 && saysFailure(body) && !saysNotSold(body)) isContradicted = true
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

function reportPrice<A extends Answer<unknown>>(answer: A, kind: Kind, onPrice: OpenOptions['onPrice']): A {
  const naira = answer.found ? toText(answer.price) : ''
  if (/^\d{1,9}(\.\d+)?$/.test(naira)) onPrice?.(kind, Math.round(Number(naira) * 100))
  return answer
}

/** The reply with the record is the last one: a token is fetched before. */
async function findPerson<T extends NinRecord | BvnRecord>(
  source: Source,
  kind: Kind,
  requested: { readonly number: string; readonly phone: string },
  call: Call,
  find: (call: Call) => Promise<Answer<T>>,
): Promise<Answer<T>> {
  const { name } = source
  let last: HttpReply | undefined
  const onReply = (reply: HttpReply) => {
    last = reply
  }
  const answer = await find({ ...call, onReply })
  if (!answer.found) {
    refuseOtherNumber(name, requested, last?.body)
    checkDecoy(source, kind, requested.phone)
    return answer
  }
  return requireUsable(name, requested, answer, last?.body)
}

/** The rule for every answer without a record: "no record" for another number says nothing about the requested one. */
export function refuseOtherNumber(
  source: string,
  requested: { readonly number: string; readonly phone: string },
  body: unknown,
): void {
  if (namesOtherNumber(body, requested))
    throw new SourceError(source, 'bad_response', { problem: 'wrong_person' })
}

/** The rules for every answer with a record. `body` is the reply that has it. */
export function requireUsable<T extends NinRecord | BvnRecord>(
  source: string,
  requested: { readonly number: string; readonly phone: string },
  answer: Found<T>,
  body: unknown,
): Found<T> {
  refuseContradiction(source, saysFailure(body))
  return requirePerson(source, requested, { ...answer, record: withWatchList(answer.record, body) })
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
        throw vendorError(name, error, call.signal.aborted)
      }
    },
    call.signal,
  )

/** An unexpected error in a vendor's code must not stop the search at other sources. */
function vendorError(name: string, error: unknown, isCut: boolean): SourceError {
  if (!(error instanceof SourceError))
    return new SourceError(name, 'bad_response', { problem: 'unknown_shape' })
  const { reason, problem, sent } = error
  if (reason !== 'timeout' || !isCut) return error
  return new SourceError(name, reason, { problem, sent, fault: 'deadline' })
}

/** A record of typical size. */
const TEXTS: Readonly<Record<Kind, string>> = {
  nin: JSON.stringify(toNinRecord(DECOY.number, DECOY.phoneCore)),
  bvn: JSON.stringify(toBvnRecord(DECOY.number, DECOY.phoneCore)),
}

function readDecoy(kind: Kind) {
  const body = JSON.parse(TEXTS[kind])
  return { body, record: kind === 'nin' ? completeNin(body) : completeBvn(body) }
}

/**
 * Does the work of reading a record when the vendor found none, so that our own processing time does not reveal whether a
 * number exists. The answer stands, whatever the file makes of the sample.
 */
function checkDecoy(source: Source, kind: Kind, phone: string): void {
  try {
    const { body, record } = (source.readDecoy ?? readDecoy)(kind)
    saysFailure(body)
    requirePerson(
      source.name,
      { number: DECOY.number, phone },
      { found: true, record: withWatchList(record, body) },
    )
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
  }
}

type Found<T> = Extract<Answer<T>, { found: true }>

/**
 * Returns the answer if its record has the requested number, a name, and a phone that can be compared with the requested
 * one. Otherwise the source has failed.
 */
function requirePerson<T extends NinRecord | BvnRecord>(
  source: string,
  requested: { readonly number: string; readonly phone: string },
  answer: Found<T>,
): Found<T> {
  const { record } = answer
  const wrong = (problem: SourceProblem) => new SourceError(source, 'bad_response', { problem })
  if (!isAbout(answer, requested.number)) throw wrong('wrong_person')
  const info = record.personal_info
  const names = [info.first_name, info.middle_name, info.last_name, info.full_name]
  if (names.every((name) => name === '')) throw wrong('unknown_shape')
  return { ...answer, record: { ...record, personal_info: selectPhones(source, info, requested.phone) } }
}

/**
 * The answer to a virtual NIN may have the NIN behind it, if it repeats the virtual NIN, or if the vendor does not always do that. A
 * virtual NIN that it repeats must be the requested one.
 */
function isAbout<T extends NinRecord | BvnRecord>(
  { record, virtualNin, mayOmitVirtualNin }: Found<T>,
  requested: string,
): boolean {
  const number = 'nin_number' in record ? record.nin_number : record.bvn_number
  if (!isVirtualNin(requested)) return number === requested
  const repeated = toCanonicalNin(toNumber(virtualNin))
  if (repeated !== '' && repeated !== requested) return false
  const isNin = /^\d{11}$/.test(number)
  return number === requested || (isNin && (repeated === requested || mayOmitVirtualNin === true))
}

type Phones = { readonly phone_number: string; readonly phone_number_2?: string | null }

/**
 * The phones to return: each as 0803…, and the requested one if it is among them. A phone that cannot be read may be the
 * right one, so neither answer is certain. That is no fault of the source.
 */
function selectPhones<T extends Phones>(source: string, info: T, phone: string): T {
  const wanted = toLocalPhone(phone)
  const first = splitPhones(info.phone_number)
  const second = splitPhones(info.phone_number_2 ?? '')
  const all = [...first, ...second]
  const isComparable = all.length > 0 && !all.includes(UNREADABLE)
  if (!all.includes(wanted) && !isComparable) {
    throw new SourceError(source, 'bad_response', { problem: toProblem(all) })
  }
  const phone_number = choose(first, wanted)
  if (!('phone_number_2' in info)) return { ...info, phone_number }
  const left = first.filter((each) => each !== phone_number && each !== UNREADABLE)
  return { ...info, phone_number, phone_number_2: choose(second, wanted) || choose(left, wanted) || null }
}

function toProblem(phones: readonly string[]): SourceProblem {
  if (phones.length === 0) return 'no_phone'
  return phones.every((each) => each === UNREADABLE) ? 'unreadable_phone' : 'mixed_phones'
}

/** The requested phone, or the first Nigerian mobile; masked when only an unreadable one is there. */
const choose = (phones: readonly string[], wanted: string): string =>
  phones.find((each) => each === wanted) ??
  phones.find((each) => each.startsWith('0')) ??
  (phones.includes(UNREADABLE) ? UNREADABLE : '')
