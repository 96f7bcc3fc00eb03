import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { SourceFailure } from '../sources/source.ts'
import { PHONE_FAULTS, type PhoneFault, READABLE_PHONES } from './phone-faults.ts'
import { REFUSALS, type UserError } from './refusals.ts'

/** Every way in which a vendor is known to fail. The first group looks different at every vendor. */
export const VENDOR_FAULTS = [
  'error_in_200',
  'missing_fields',
  'wrong_person',
  'unauthorised',
  'no_funds',
  // The vendor's way of saying that a BVN is blocked or on a watch list; one that has no list answers as usual.
  'watchlisted',
  // A record beside a sign of failure, where the vendor's format allows that.
  'contradictory',
] as const
export const SERVER_FAULTS = [
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
export type Fault = (typeof VENDOR_FAULTS)[number] | (typeof SERVER_FAULTS)[number] | PhoneFault | UserError

const namesOf = <T extends object>(table: T) => Object.keys(table) as (keyof T)[]
export const FAULTS: readonly Fault[] = [
  ...VENDOR_FAULTS,
  ...SERVER_FAULTS,
  ...namesOf(PHONE_FAULTS),
  ...namesOf(REFUSALS),
]

/** Answers that are unusual and still answers: nothing fails. */
export const HARMLESS: readonly Fault[] = ['missing_fields', 'watchlisted', ...namesOf(READABLE_PHONES)]

/** What each way in which any server may fail must be called. */
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

/** Those that are nothing but waiting. */
export const SLOW: readonly Fault[] = ['slow_headers', 'slow_body', 'dripping']

export const isFault = (value: unknown): value is Fault => FAULTS.includes(value as Fault)

/** What a careless vendor puts into its errors. None of it may reach a caller or a log. */
export const PLANTED = 'Planted Vendortext 08099999999'

const HUGE_BYTES = 50 * 1024 * 1024
const HTML = `<!doctype html><title>502</title><p>${PLANTED}</p>`
const JSON_TYPE = { 'content-type': 'application/json' }

type Answer = { readonly response: ServerResponse; readonly status: number; readonly body: string }

const MISBEHAVIOURS: Readonly<Record<(typeof SERVER_FAULTS)[number], (answer: Answer) => void>> = {
  throttled: ({ response }) => end(response, 429, { message: PLANTED, error: PLANTED }),
  failing: ({ response }) => end(response, 500, { message: PLANTED, error: PLANTED }),
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

/** What takes long to make is made before anybody is asked: nobody's patience is to be tried by it. */
export function prepare(fault: Fault | undefined): void {
  if (fault === 'gzip_bomb') toBomb()
}

/** Whether the answer was taken care of. */
export function misbehave(fault: Fault, response: ServerResponse, status: number, answer: unknown): boolean {
  const act = (MISBEHAVIOURS as Partial<Record<Fault, (answer: Answer) => void>>)[fault]
  act?.({ response, status, body: JSON.stringify(answer) })
  return act !== undefined
}

const end = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, JSON_TYPE).end(JSON.stringify(body))

let bomb: Buffer | undefined

/** 50 MB of zeros, which travel as 50 kB. */
function toBomb(): Buffer {
  bomb ??= gzipSync(Buffer.alloc(HUGE_BYTES))
  return bomb
}
