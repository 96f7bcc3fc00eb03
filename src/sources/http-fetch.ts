import { isLoopback } from '../settings/setting.ts'
import { withDeadline } from './deadline.ts'
import { openClient } from './http-client.ts'
import { isPrivateAddress, PrivateAddress } from './public-address.ts'

type FetchInit = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly signal?: AbortSignal | undefined
}

/** Like `fetch` of browsers, for a library. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>

const TIMEOUT_MS = 8000
const LARGEST_REPLY = 1024 * 1024

/**
 * For a library that makes requests itself: no redirects, no compression, limits of size and time; https, but for this machine.
 * `trusted`: private addresses are allowed.
 */
export function openFetch(trusted: boolean): { readonly send: Fetch; readonly close: () => Promise<void> } {
  const { request, close } = openClient(trusted)
  const sendBefore = async (signal: AbortSignal, url: string, { method, headers, body }: FetchInit) => {
    const { origin, pathname, search } = readUrl(url, trusted)
    const reply = await request({
      origin,
      path: pathname + search,
      method: method as 'GET' | 'POST',
      headers: { ...headers, 'accept-encoding': 'identity' },
      body: body instanceof URLSearchParams ? body.toString() : ((body ?? null) as string | null),
      signal,
      opaque: {},
    })
    const bytes = await readAll(reply.body)
    const hasBody = ![204, 205, 304].includes(reply.statusCode)
    return new Response(hasBody ? bytes : null, {
      status: reply.statusCode,
      headers: toHeaders(reply.headers),
    })
  }
  const send: Fetch = (url, init) =>
    withDeadline(TIMEOUT_MS, (signal) => sendBefore(signal, url, init), init.signal)
  return { send, close }
}

function readUrl(url: string, trusted: boolean): URL {
  const parsed = new URL(url)
  if (parsed.protocol !== 'https:' && !isLoopback(parsed.hostname)) throw new Error('only https is allowed')
  // An address in the URL is not looked up, so it is checked here.
  if (!trusted && isPrivateAddress(parsed.hostname)) throw new PrivateAddress()
  return parsed
}

async function readAll(body: AsyncIterable<Buffer>): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > LARGEST_REPLY) throw new Error('the reply is too large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const toHeaders = (given: Readonly<Record<string, string | string[] | undefined>>): [string, string][] =>
  Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((text): [string, string] => [name, text]),
  )
