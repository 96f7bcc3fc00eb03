import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { SourceFailure } from '../sources/source.ts'

/** How a vendor may spell the phone of a record, given as 0803…; undefined leaves the field out. */
export type SpellPhone = (phone: string) => unknown

const OTHER = '08021112223'

/** Phones that cannot be compared with the requested one. */
export const UNREADABLE_PHONES = {
  phone_null: () => null,
  phone_missing: () => undefined,
  phone_empty: () => '',
  phone_masked: (phone) => `${phone.slice(0, 3)}****${phone.slice(7)}`,
  phone_hidden: () => '***********',
  phone_not_available: () => 'N/A',
} as const satisfies Readonly<Record<string, SpellPhone>>

/** Unusual spellings that can be read. */
export const READABLE_PHONES = {
  phone_plus_2340: (phone) => `+234${phone}`,
  phone_several: (phone) => `${OTHER},${phone}`,
} as const satisfies Readonly<Record<string, SpellPhone>>

export const PHONE_FAULTS = { ...UNREADABLE_PHONES, ...READABLE_PHONES } as const
type PhoneFault = keyof typeof PHONE_FAULTS

export const isPhoneFault = (fault: string | undefined): fault is PhoneFault =>
  fault !== undefined && Object.hasOwn(PHONE_FAULTS, fault)

/** The reply with all phones in another spelling. */
export function respellPhones(answer: unknown, fields: readonly string[], spell: SpellPhone): unknown {
  if (Array.isArray(answer)) return answer.map((each) => respellPhones(each, fields, spell))
  if (typeof answer !== 'object' || answer === null) return answer
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [
      name,
      // A second phone that is empty or "Not Available" stays so.
      fields.includes(name) && typeof value === 'string' && /\d/.test(value)
        ? spell(`0${value.slice(-10)}`)
        : respellPhones(value, fields, spell),
    ]),
  )
}

/**
 * Errors that are not about the person, with the texts of vendors and their frameworks. Each is sent in the vendor's own
 * envelope. None of them means "no such person".
 */
export const REFUSALS = {
  unknown_app: [404, 'App not found'],
  unknown_merchant: [404, 'Merchant not found'],
  unknown_endpoint: [404, 'Endpoint not found'],
  unknown_route: [404, 'Cannot POST /v2/verify'],
  wrong_format: [400, 'Phone number does not match the required format'],
  not_now: [422, 'The number could not be verified at this time'],
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>

type RefusalFault = keyof typeof REFUSALS

/** More error texts. The tests of all vendors combine every text with every status. */
export const REFUSED_TEXTS: readonly string[] = [
  ...Object.values(REFUSALS).map(([, message]) => message),
  'Not Found',
  'Resource not found',
  'User not found',
  'Customer not found',
  'Client not found',
  'Business not found',
  'Account not found',
  'API key not found',
  'Product not found for this account',
  'Record not found for this app',
  'Wallet record not found',
  'No record of this merchant',
  'no Route matched with those values',
  'NIN service not found',
  'NIN not found: NIMC did not answer',
  'Unable to verify NIN at the moment, please try again',
  'BVN could not be verified, try again later',
  'Service not available',
  'phone must match the pattern ^0[0-9]{10}$',
  'Phone number does not match expected format',
  'phone number does not match schema',
  'Validation failed',
  'Invalid request',
  '',
]
export const REFUSED_STATUSES: readonly number[] = [400, 404, 422]

/** Faults that look different at every vendor. */
const VENDOR_FAULTS = [
  'error_in_200',
  'missing_fields',
  'wrong_person',
  'unauthorised',
  'no_funds',
  // A BVN that is blocked or on a watch list; a vendor without a list answers as usual.
  'watchlisted',
  // A record together with a failure status, where the vendor's format allows it.
  'contradictory',
] as const
const SERVER_FAULTS = [
  'throttled',
  'failing',
  'malformed_json',
  'html_with_200',
  'slow_headers',
  'slow_body',
  'dripping',
  'truncated',
  'huge',
  'gzip_bomb',
  'redirect',
  'reset',
] as const
export type Fault =
  | (typeof VENDOR_FAULTS)[number]
  | (typeof SERVER_FAULTS)[number]
  | PhoneFault
  | RefusalFault

const namesOf = <T extends object>(table: T) => Object.keys(table) as (keyof T)[]
export const FAULTS: readonly Fault[] = [
  ...VENDOR_FAULTS,
  ...SERVER_FAULTS,
  ...namesOf(PHONE_FAULTS),
  ...namesOf(REFUSALS),
]

/** Unusual replies that are still answers. */
export const HARMLESS: readonly Fault[] = ['missing_fields', 'watchlisted', ...namesOf(READABLE_PHONES)]

/** The failure reason that each server fault must lead to. */
export const SERVER_FAILURES = {
  throttled: 'throttled',
  failing: 'unreachable',
  malformed_json: 'bad_response',
  html_with_200: 'bad_response',
  slow_headers: 'timeout',
  slow_body: 'timeout',
  dripping: 'timeout',
  truncated: 'bad_response',
  huge: 'bad_response',
  gzip_bomb: 'bad_response',
  redirect: 'bad_response',
  reset: 'unreachable',
} as const satisfies Readonly<Record<(typeof SERVER_FAULTS)[number], SourceFailure>>

/** Faults that end by a timeout. */
export const SLOW: readonly Fault[] = ['slow_headers', 'slow_body', 'dripping']

export const isFault = (value: unknown): value is Fault => FAULTS.includes(value as Fault)

/** Personal data in a vendor's error text. It must not reach a caller or a log. */
export const CANARY = 'Planted Vendortext 08099999999'

const HUGE_BYTES = 50 * 1024 * 1024
const HTML = `<!doctype html><title>502</title><p>${CANARY}</p>`
const JSON_TYPE = { 'content-type': 'application/json' }

type Answer = { readonly response: ServerResponse; readonly status: number; readonly body: string }

const FAULT_REPLIES: Readonly<Record<(typeof SERVER_FAULTS)[number], (answer: Answer) => void>> = {
  throttled: ({ response }) => end(response, 429, { message: CANARY, error: CANARY }),
  failing: ({ response }) => end(response, 500, { message: CANARY, error: CANARY }),
  malformed_json: ({ response, status, body }) =>
    response.writeHead(status, JSON_TYPE).end(`${body.slice(0, -2)},,`),
  html_with_200: ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end(HTML),
  slow_headers: () => {},
  slow_body: ({ response, body }) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(body) })
    response.write(body.slice(0, 20))
  },
  dripping: ({ response, body }) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(body) })
    let sent = 0
    const drip = setInterval(() => {
      response.write(body.slice(sent, ++sent))
      if (sent >= body.length) clearInterval(drip)
    }, 100).unref()
    response.on('close', () => clearInterval(drip))
  },
  truncated: ({ response, body }) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(body) })
    response.write(body.slice(0, body.length / 2), () => response.destroy())
  },
  huge: ({ response }) => {
    response.writeHead(200, JSON_TYPE)
    const piece = 'x'.repeat(64 * 1024)
    let left = HUGE_BYTES
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= piece.length
        if (!response.write(piece)) return
      }
      response.end()
    }
    response.on('drain', more).write('{"data":"')
    more()
  },
  gzip_bomb: ({ response }) =>
    response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(toBomb()),
  redirect: ({ response }) =>
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
  reset: ({ response }) => response.socket?.resetAndDestroy(),
}

/** Builds the gzip bomb in advance, so that it does not delay the reply. */
export function prepareFault(fault: Fault | undefined): void {
  if (fault === 'gzip_bomb') toBomb()
}

/** Whether the fault has sent the reply. */
export function applyFault(fault: Fault, response: ServerResponse, status: number, answer: unknown): boolean {
  const act = (FAULT_REPLIES as Partial<Record<Fault, (answer: Answer) => void>>)[fault]
  act?.({ response, status, body: JSON.stringify(answer) })
  return act !== undefined
}

const end = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, JSON_TYPE).end(JSON.stringify(body))

let bomb: Buffer | undefined

/** 50 MB of zeros, compressed to 50 kB. */
function toBomb(): Buffer {
  bomb ??= gzipSync(Buffer.alloc(HUGE_BYTES))
  return bomb
}
