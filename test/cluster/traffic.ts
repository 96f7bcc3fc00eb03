import { type Client, createClient, type Reply } from '../battery/client.ts'
import type { Ledger, Wish } from '../battery/ledger.ts'
import type { Place } from '../battery/place.ts'
import type { TlsProxy } from './proxy.ts'

/** What callers of a cluster see while something happens to it. */
export type Seen = {
  /** Answers by status and code; `no answer` where the connection ended before. */
  readonly counts: Map<string, number>
  /** Statuses that differ from what the person's record says. */
  readonly falseAnswers: string[]
  /** The longest time that a caller waited for an answer of any kind. */
  longest: { readonly ms: number; readonly kind: string }
  /** When verifications were answered with 200 or 422. */
  readonly answeredAt: number[]
  lastFailureAt: number
}

type TrafficOptions = {
  /** Concurrent callers. */
  readonly ways: number
  /** The pause of a caller between two requests. */
  readonly pauseMs?: number
}

export type Traffic = {
  readonly seen: Seen
  /** All but 200 and `not_verified`, with their number. */
  readonly failures: () => Record<string, number>
  /** Resolves after so many more verifications. */
  readonly untilAnswered: (more: number) => Promise<void>
  /** Sends no new requests; resolves when the running ones have ended. */
  readonly stop: () => Promise<void>
}

const RETRY_MS = 20
const LOOK_UP = '/api/v2/sme-data/list'
/** Given up after this time, which is longer than any answer may take. */
const MAX_MS = 60_000

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

const toExpected = ({ operation, mode, payload }: Wish) =>
  (operation === 'nin' && mode === 'live') || payload.bvn === '00000000422' ? 422 : 200

const toCode = (body: string) => {
  try {
    return String((JSON.parse(body) as { code?: unknown }).code ?? '')
  } catch {
    return 'not JSON'
  }
}

/** Callers that send verifications, and one that looks up a list, until they are stopped. */
export function startTraffic(
  proxy: TlsProxy,
  { keys }: Pick<Place, 'keys'>,
  ledger: Ledger,
  { ways, pauseMs = 0 }: TrafficOptions,
): Traffic {
  const client = createClient(ways + 1, proxy.ca)
  const seen: Seen = {
    counts: new Map(),
    falseAnswers: [],
    longest: { ms: 0, kind: '' },
    answeredAt: [],
    lastFailureAt: 0,
  }
  let running = true

  const count = (what: string) => seen.counts.set(what, (seen.counts.get(what) ?? 0) + 1)
  const measure = async (what: string, send: () => Promise<Reply>): Promise<Reply | undefined> => {
    const startedAt = performance.now()
    const reply = await send().catch(() => undefined)
    const code = reply && reply.status >= 400 ? ` ${toCode(reply.body)}` : ''
    const kind = `${what} ${reply ? `${reply.status}${code}` : 'no answer'}`
    count(kind)
    const tookMs = performance.now() - startedAt
    if (tookMs > seen.longest.ms) seen.longest = { ms: tookMs, kind }
    return reply
  }
  const verify = async () => {
    const wish = ledger.next()
    const reply = await measure('verification', () => sendWish(client, proxy.url, keys[wish.mode], wish))
    if (!reply || !isAnswer(reply)) {
      seen.lastFailureAt = performance.now()
      await pause(RETRY_MS)
      return
    }
    seen.answeredAt.push(performance.now())
    if (reply.status !== toExpected(wish)) seen.falseAnswers.push(`${wish.operation} ${reply.status}`)
    ledger.note(wish, reply)
    if (pauseMs > 0) await pause(pauseMs)
  }
  const lookUp = async () => {
    const reply = await measure('look-up', () =>
      client.get(`${proxy.url}${LOOK_UP}`, { authorization: `Bearer ${keys.live}` }),
    )
    await pause(reply?.status === 200 ? RETRY_MS / 2 : RETRY_MS)
  }
  const repeat = async (work: () => Promise<unknown>) => {
    while (running) await work()
  }
  const callers = [...Array.from({ length: ways }, () => repeat(verify)), repeat(lookUp)]
  return {
    seen,
    failures: () =>
      Object.fromEntries([...seen.counts].filter(([what]) => !/ (200|422 not_verified)$/.test(what))),
    untilAnswered: async (more) => {
      const goal = seen.answeredAt.length + more
      const until = performance.now() + MAX_MS
      while (seen.answeredAt.length < goal) {
        if (performance.now() > until) throw new Error(`not ${more} more answers within ${MAX_MS} ms`)
        await pause(5)
      }
    },
    stop: async () => {
      running = false
      await Promise.all(callers)
      client.close()
    },
  }
}

const isAnswer = ({ status, body }: Reply) =>
  status === 200 || (status === 422 && toCode(body) === 'not_verified')

const sendWish = (client: Client, url: string, key: string, wish: Wish): Promise<Reply> =>
  client.post(`${url}/api/v2/kyc/verify-${wish.operation}`, wish.payload, {
    authorization: `Bearer ${key}`,
    ...(wish.header === undefined ? {} : { 'idempotency-key': wish.header }),
  })
