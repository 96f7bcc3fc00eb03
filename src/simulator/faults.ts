import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { SourceFailure } from '../sources/source.ts'
import { PHONE_FAULTS, type PhoneFault, READABLE_PHONES } from './phone-faults.ts'
import { REFUSALS, type RefusalFault } from './refusals.ts'

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
