import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  applyFault,
  type Fault,
  isFault,
  isPhoneFault,
  PHONE_FAULTS,
  prepareFault,
  REFUSALS,
  respellPhones,
  type SpellPhone,
} from './faults.ts'

/** A request as the vendor's server receives it. */
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
 * The part of a stand-in that differs per vendor. `answer` replies in the documented format. It handles the faults that look
 * different at every vendor; the stand-in handles all others.
 */
export type VendorScript = {
  readonly name: string
  /** The variables that point Tabbat at the stand-in. */
  readonly settings: (url: string) => Record<string, string>
  readonly answer: (request: VendorRequest, fault: Fault | undefined) => VendorReply
  /** The names of the phone fields of a record. Only identity vendors have them. */
  readonly phoneFields?: readonly string[]
  /** An error with this text in the vendor's envelope. */
  readonly refuse?: (status: number, message: string) => VendorReply
  /** Further replies to look-ups, which the control chooses by name as it does faults. */
  readonly replies?: Readonly<Record<string, VendorReply>>
  /** Tokens are issued even while look-ups are refused. */
  readonly tokenPath?: string
}

export type StandIn = {
  readonly url: string
  readonly settings: Record<string, string>
  /** Turns a fault on; undefined turns it off. */
  readonly fail: (fault: Fault | undefined) => void
  /** Gives every look-up this reply; undefined turns it off. */
  readonly answerWith: (reply: VendorReply | undefined) => void
  /** Gives every look-up this error; undefined turns it off. */
  readonly refuse: (status: number | undefined, message?: string) => void
  /** Changes the spelling of phones; undefined turns it off. */
  readonly spellPhones: (spell: SpellPhone | undefined) => void
  /** Changes the body of every reply, except tokens; undefined turns it off. */
  readonly alter: (edit: ((body: unknown) => unknown) | undefined) => void
  /** The number of requests, token requests included. */
  readonly count: () => number
  /** Open connections. */
  readonly connections: () => Promise<number>
  readonly close: () => Promise<void>
}

/** Sets the fault of a running stand-in: POST {"fault": "slow_headers"}, or {"fault": null}. */
const CONTROL = '/stand-in/fault'

/** A simulated vendor on a real socket. Its records are those of people.ts. `think` comes before each answer. */
export async function openStandIn(
  script: VendorScript,
  port = 0,
  think: () => Promise<void> = async () => {},
): Promise<StandIn> {
  let fault: Fault | undefined
  let refusal: readonly [status: number, message: string] | undefined
  let fixed: VendorReply | undefined
  let spell: SpellPhone | undefined
  let edit: ((body: unknown) => unknown) | undefined
  let count = 0
  const answerTo = (request: VendorRequest): VendorReply => {
    if (fixed && request.path !== script.tokenPath) return fixed
    const refused = refusal ?? REFUSALS[fault as keyof typeof REFUSALS]
    if (refused && script.refuse && request.path !== script.tokenPath) return script.refuse(...refused)
    const reply = script.answer(request, fault)
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
    const received = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: parse(body),
    }
    await think()
    const { status, body: plain } = answerTo(received)
    const answer = edit && received.path !== script.tokenPath ? edit(plain) : plain
    if (fault && applyFault(fault, response, status, answer)) return
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const control = (body: string, response: ServerResponse) => {
    const wanted = (parse(body) as { fault?: unknown } | undefined)?.fault
    fixed = script.replies?.[String(wanted)]
    if (!fixed && wanted !== null && !isFault(wanted))
      return response.writeHead(400).end('{"error":"unknown fault"}')
    fault = isFault(wanted) ? wanted : undefined
    return response.writeHead(200).end(JSON.stringify({ fault: wanted }))
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    settings: script.settings(url),
    fail: (wanted) => {
      prepareFault(wanted)
      fault = wanted
    },
    answerWith: (reply) => {
      fixed = reply
    },
    refuse: (status, message = '') => {
      refusal = status === undefined ? undefined : [status, message]
    },
    spellPhones: (wanted) => {
      spell = wanted
    },
    alter: (wanted) => {
      edit = wanted
    },
    count: () => count,
    connections: () => countConnections(server),
    close: () => close(server),
  }
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}

const countConnections = (server: Server) =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, open) => (error ? reject(error) : resolve(open)))
  })

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
