import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Fault, isFault, misbehave, prepare } from './faults.ts'
import { isPhoneFault, PHONE_FAULTS, respellPhones, type SpellPhone } from './phone-faults.ts'
import { REFUSALS } from './refusals.ts'

/** A question to a vendor, as its server sees it. */
export type VendorRequest = {
  readonly method: string
  /** Below the address of the stand-in, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  /** Parsed JSON, or undefined. */
  readonly body: unknown
}

export type VendorReply = { readonly status: number; readonly body: unknown }

/**
 * What is particular about a vendor. `answer` speaks its documented format, also for the faults that look different at every
 * vendor: they are given as `fault`, and every other fault is the stand-in's own affair.
 */
export type VendorScript = {
  readonly name: string
  /** The variables that point Tabbat at the stand-in. */
  readonly settings: (url: string) => Record<string, string>
  readonly answer: (request: VendorRequest, fault: Fault | undefined) => VendorReply
  /** The names of the fields that hold a phone of the record. Only vendors that verify people have them. */
  readonly phoneFields?: readonly string[]
  /** An error in the vendor's envelope, with exactly this text. */
  readonly refuse?: (status: number, said: string) => VendorReply
  /** Where a token is fetched: it is given also while look-ups are refused. */
  readonly tokenPath?: string
}

export type StandIn = {
  readonly url: string
  readonly settings: Record<string, string>
  /** From now on it fails in this way; undefined: it is well again. */
  readonly fail: (fault: Fault | undefined) => void
  /** From now on every look-up gets this reply; undefined: no longer. */
  readonly answerWith: (reply: VendorReply | undefined) => void
  /** From now on every look-up gets this error; undefined: no longer. */
  readonly refuse: (status: number | undefined, said?: string) => void
  /** From now on phones are spelt like this; undefined: as usual. */
  readonly spellPhones: (spell: SpellPhone | undefined) => void
  /** How many questions came; those about tokens included. */
  readonly count: () => number
  /** Connections that are open now. */
  readonly connections: () => Promise<number>
  readonly close: () => Promise<void>
}

/** Tells a running stand-in how to fail: POST {"fault": "slow_headers"}, or {"fault": null}. */
const CONTROL = '/stand-in/fault'

/** A vendor's server on a real socket. It knows everybody: see people.ts. */
export async function openStandIn(script: VendorScript, port = 0): Promise<StandIn> {
  let fault: Fault | undefined
  let refusal: readonly [status: number, said: string] | undefined
  let fixed: VendorReply | undefined
  let spell: SpellPhone | undefined
  let count = 0
  const answerTo = (question: VendorRequest): VendorReply => {
    if (fixed && question.path !== script.tokenPath) return fixed
    const refused = refusal ?? REFUSALS[fault as keyof typeof REFUSALS]
    if (refused && script.refuse && question.path !== script.tokenPath) return script.refuse(...refused)
    const reply = script.answer(question, fault)
    const spelling = spell ?? (isPhoneFault(fault) ? PHONE_FAULTS[fault] : undefined)
    if (!spelling) return reply
    return { ...reply, body: respellPhones(reply.body, script.phoneFields ?? [], spelling) }
  }
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://stand-in')
    const body = await text(request).catch(() => '')
    if (url.pathname === CONTROL) {
      control(body, response)
      return
    }
    count += 1
    const question = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: parse(body),
    }
    const { status, body: answer } = answerTo(question)
    if (fault && misbehave(fault, response, status, answer)) return
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const control = (body: string, response: ServerResponse) => {
    const wanted = (parse(body) as { fault?: unknown } | undefined)?.fault
    if (wanted !== null && !isFault(wanted)) return response.writeHead(400).end('{"error":"unknown fault"}')
    fault = wanted ?? undefined
    return response.writeHead(200).end(JSON.stringify({ fault: wanted }))
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    settings: script.settings(url),
    fail: (wanted) => {
      prepare(wanted)
      fault = wanted
    },
    answerWith: (reply) => {
      fixed = reply
    },
    refuse: (status, said = '') => {
      refusal = status === undefined ? undefined : [status, said]
    },
    spellPhones: (wanted) => {
      spell = wanted
    },
    count: () => count,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, open) => (error ? reject(error) : resolve(open)))
      }),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
