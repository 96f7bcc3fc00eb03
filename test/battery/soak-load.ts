import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { type Client, createClient, type Reply } from './client.ts'
import { PEOPLE, PHONE, toBvn } from './place.ts'

/** The callers of a soak: every kind of request, what they were told, and how long it took. */
export type SoakLoad = {
  /** So many callers, each of which asks again when it is answered. Resolves to the answers a second. */
  readonly saturate: (callers: number, ms: number) => Promise<number>
  /** So many requests a second, whether or not earlier ones are answered. */
  readonly pace: (rate: number, ms: number) => Promise<void>
  /** The times since the last call, in ms. */
  readonly takeTimes: () => number[]
  /** Reads the answers of pending verifications until all have ended, at most so long. */
  readonly settle: (ms: number) => Promise<void>
  readonly told: Told
  readonly close: () => void
}

export type Told = {
  /** References and the outcome that the log must have. */
  readonly acknowledged: Map<string, 'verified' | 'not_verified'>
  /** Accepted questions whose answer was not read yet, by the time of the next look. */
  readonly pending: Map<string, number>
  /** Answers by status and code, and requests without an answer by the error of the socket. */
  readonly codes: Map<string, number>
  readonly faults: string[]
  sent: number
  pendingEnded: number
  replays: number
}

type Ask = {
  readonly path: string
  readonly body?: Record<string, string>
  readonly key: string
  readonly headers?: Record<string, string>
  /** The outcome that a verification must have, if a source can answer. */
  readonly wanted?: 'verified' | 'not_verified'
  readonly isPending?: boolean
}

const CONNECTIONS = 256
const NIN = '/api/v2/kyc/verify-nin'
const BVN = '/api/v2/kyc/verify-bvn'
const VERIFICATIONS = '/api/v2/kyc/verifications/'
/** Of no synthetic person. */
const WRONG_PHONE = '07019999999'
const TICK_MS = 4
const LOOK_AFTER_MS = 3000
const MAX_FAULTS = 50

export function createSoakLoad(url: string, keys: { readonly live: string }): SoakLoad {
  const client = createClient(CONNECTIONS)
  const told = createTold()
  const running = new Set<Promise<unknown>>()
  let times: number[] = []
  const toAsk = createAsks(keys.live)
  const follow = (work: Promise<unknown>) => {
    running.add(work)
    void work.finally(() => running.delete(work))
  }
  /** `dueAt`: what a request waited because those before it were slow counts too. */
  const send = async (dueAt = performance.now()): Promise<void> => {
    const ask = toAsk(told.sent++)
    try {
      const reply = await sendAsk(client, url, ask)
      times.push(performance.now() - dueAt)
      note(told, ask, reply)
      if (ask.headers?.['idempotency-key'] && told.sent % 3 === 0)
        noteReplay(told, reply, await sendAsk(client, url, ask))
    } catch (error) {
      countCode(told, `no answer: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`)
    }
  }
  const look = async (reference: string) => {
    const headers = { authorization: `Bearer ${keys.live}` }
    const reply = await client.get(`${url}${VERIFICATIONS}${reference}`, headers).catch(() => undefined)
    if (reply) notePending(told, reference, reply)
  }
  return {
    told,
    saturate: async (callers, ms) => {
      const [before, startedAt] = [told.sent, performance.now()]
      const run = async () => {
        while (performance.now() - startedAt < ms) await send()
      }
      await Promise.all(Array.from({ length: callers }, run))
      return ((told.sent - before) * 1000) / (performance.now() - startedAt)
    },
    pace: async (rate, ms) => {
      const startedAt = performance.now()
      const total = Math.round((rate * ms) / 1000)
      for (let due = 0; due < total; ) {
        await new Promise((done) => setTimeout(done, TICK_MS))
        const now = performance.now()
        for (; due < total && startedAt + (due * 1000) / rate <= now; due++)
          follow(send(startedAt + (due * 1000) / rate))
        for (const reference of takeDue(told.pending, now)) follow(look(reference))
      }
      await Promise.all(running)
    },
    takeTimes: () => {
      const taken = times
      times = []
      return taken
    },
    settle: async (ms) => {
      const until = performance.now() + ms
      while (told.pending.size > 0 && performance.now() < until) {
        await Promise.all(takeDue(told.pending, performance.now()).map(look))
        await new Promise((done) => setTimeout(done, 100))
      }
      for (const reference of told.pending.keys()) addFault(told, `${reference}: pending and never ended`)
    },
    close: client.close,
  }
}

const createTold = (): Told => ({
  ...{ acknowledged: new Map(), pending: new Map(), codes: new Map(), faults: [] },
  ...{ sent: 0, pendingEnded: 0, replays: 0 },
})

export function addFault({ faults }: Pick<Told, 'faults'>, fault: string): void {
  if (faults.length < MAX_FAULTS) faults.push(fault)
}

export function countCode({ codes }: Pick<Told, 'codes'>, code: string): void {
  codes.set(code, (codes.get(code) ?? 0) + 1)
}

/** The pending ones that are due to be looked at, due again a while later. */
function takeDue(pending: Map<string, number>, now: number): string[] {
  const due: string[] = []
  // In the order in which they were accepted or looked at last.
  for (const [reference, at] of pending) {
    if (at > now) break
    due.push(reference)
  }
  for (const reference of due) {
    pending.delete(reference)
    pending.set(reference, now + LOOK_AFTER_MS)
  }
  return due
}

/** Twenty requests in turn. */
function createAsks(live: string): (index: number) => Ask {
  const ofVendor = (index: number): Ask => {
    const nin = String(60_000_000_000 + index)
    const body = { nin, phone: `0${toPhoneCoreOf(nin)}` }
    const headers = index % 4 === 0 ? { headers: { 'idempotency-key': `soak-${index}` } } : {}
    return { path: NIN, body, key: live, wanted: 'verified', ...headers }
  }
  const ofRegistry = (index: number): Ask => {
    const body = { bvn: toBvn(index % PEOPLE), phone: PHONE, amount: '1' }
    return { path: BVN, body, key: live, wanted: 'verified' }
  }
  const lists = ['/api/v2/sme-data/list', '/api/v2/internet/data/smile/lookup']
  const rare: Readonly<Record<number, (index: number) => Ask>> = {
    1: (index) => ({ ...ofVendor(index), wanted: 'not_verified', body: wrongBody(index) }),
    5: (index) => {
      const nin = String(99_000_000_000 + index)
      return { path: NIN, body: { nin, phone: PHONE }, key: live, wanted: 'not_verified' }
    },
    9: (index) => {
      const bvn = String(52_000_000_000 + index)
      return { path: BVN, body: { bvn, phone: PHONE, amount: '1' }, key: live, wanted: 'not_verified' }
    },
    13: (index) => ({ ...ofVendor(index), headers: { prefer: 'respond-async' }, isPending: true }),
    17: (index) => ({ ...ofVendor(index), key: SANDBOX_KEY }),
    19: (index) =>
      index % 40 < 20 ? { ...ofVendor(index), key: 'no-key' } : { path: NIN, body: { nin: '1' }, key: live },
  }
  return (index) => {
    const turn = index % 20
    const special = rare[turn]
    if (special) return special(index)
    if (turn % 5 === 2) return { path: lists[index % 2] ?? '', key: live }
    return turn % 5 === 3 ? ofRegistry(index) : ofVendor(index)
  }
}

const wrongBody = (index: number) => ({ nin: String(60_000_000_000 + index), phone: WRONG_PHONE })

function sendAsk(client: Client, url: string, { path, body, key, headers }: Ask): Promise<Reply> {
  const all = { authorization: `Bearer ${key}`, ...headers }
  return body ? client.post(url + path, body, all) : client.get(url + path, all)
}

type Body = { readonly code?: string | number; readonly data?: { readonly request_reference?: string } }

function note(told: Told, ask: Ask, { status, body }: Reply): void {
  const { code, data } = JSON.parse(body) as Body
  const label = status === 200 ? '200' : `${status} ${code ?? ''}`.trim()
  countCode(told, label)
  const reference = data?.request_reference
  if (reference === undefined || ask.wanted === undefined) return
  if (status === 202) told.pending.set(reference, performance.now() + LOOK_AFTER_MS)
  else noteOutcome(told, reference, status, code)
  if (status === 422 && code === 'not_verified' && ask.wanted === 'verified')
    addFault(told, `${reference}: a false "not verified"`)
  if (status !== 200) return
  if (ask.wanted === 'not_verified') addFault(told, `${reference}: verified with a wrong phone or number`)
  // Whose record it is.
  if (!body.includes(ask.body?.nin ?? ask.body?.bvn ?? '')) addFault(told, `${reference}: the wrong person`)
}

function noteOutcome(told: Told, reference: string, status: number, code: unknown): void {
  if (status === 200) told.acknowledged.set(reference, 'verified')
  else if (status === 422 && code === 'not_verified') told.acknowledged.set(reference, 'not_verified')
}

function noteReplay(told: Told, first: Reply, second: Reply): void {
  if (first.status !== 200 || second.status !== 200) return
  told.replays += 1
  if (first.body !== second.body) addFault(told, 'one Idempotency-Key, two answers')
}

function notePending(told: Told, reference: string, { status, body }: Reply): void {
  if (![200, 410, 422, 429, 504].includes(status)) return
  const { code } = JSON.parse(body) as Body
  // Of a person whom a vendor knows, with the right phone.
  if (code === 'not_verified') addFault(told, `${reference}: a false "not verified" to a pending question`)
  noteOutcome(told, reference, status, code)
  // On a slow machine two looks at one question are under way at a time.
  if (told.pending.delete(reference)) told.pendingEnded += 1
}
