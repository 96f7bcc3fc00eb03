import { setTimeout as pause } from 'node:timers/promises'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { createClient } from './client.ts'
import { type Sort, toNumber } from './vendor-conduct.ts'

/** A verification to send. Each has a number of its own, but for guesses: many of them are about one number. */
export type Wish = {
  readonly sort: Sort
  readonly number: string
  readonly phone: string
  /** The name of the API key. */
  readonly caller: string
  readonly header: string | undefined
  /** With a wrong phone. */
  readonly isGuess: boolean
}

/** A response about the person. */
export type Answer = {
  readonly wish: Wish
  readonly status: number
  readonly body: string
  readonly reference: string
  readonly replayed: boolean
}

/** What callers sent and what they got. */
export type Book = {
  readonly wishes: Wish[]
  readonly answers: Answer[]
  /** The first answer under each Idempotency-Key. */
  readonly first: Map<string, Answer>
  /** Wishes under an Idempotency-Key that may still get a response. */
  readonly open: Map<string, Wish>
  /** By number: requests that ended without a response about the person and without a refusal. */
  readonly unsettled: Map<string, number>
  /** Unkeyed requests that died with their server or its database; their guess was right. */
  readonly cut: Wish[]
  /** Answers that should never come. */
  readonly faults: string[]
  readonly counts: Counts
}

type Counts = {
  sent: number
  acknowledged: number
  replays: number
  /** Got no answer from the vendors. */
  failed: number
  /** Wrong guesses above the limit. */
  refused: number
  /** The audit log could not be written, or the claim belongs to another request. */
  unavailable: number
  /** Died with the server. */
  cut: number
}

export const CALLERS = ['caller-1', 'caller-2'] as const
export const GUESSERS = [
  'guesser-1',
  'guesser-2',
  'guesser-3',
  'guesser-4',
  'guesser-5',
  'guesser-6',
] as const
/** More than the guess limit of a key, and of all keys. */
const GUESSES_OF_NUMBER = 8 * GUESSERS.length
const GUESS_EVERY = 8

/** Most are found. The rest stays under the share of failures at which a breaker opens. */
const MIX: readonly Sort[] = [
  ...(Array(24).fill('found') as Sort[]),
  ...(Array(5).fill('unknown') as Sort[]),
  ...(['no_funds', 'unauthorised', 'throttled', 'failing', 'closed', 'slow', 'hanging'] as const),
  ...(['both_fail', 'refused_once'] as const),
]

/** `sorts`: what the vendors do with the numbers. */
export function createWishes(sorts: readonly Sort[] = MIX, hasGuesses = true, firstId = 0): () => Wish {
  let made = firstId
  let guesses = 0
  const nextGuess = (): Wish => {
    const number = toNumber('found', 5_000_000 + Math.floor(guesses / GUESSES_OF_NUMBER))
    const id = guesses++
    // Of no synthetic person.
    const phone = `0701${String(id).padStart(7, '0')}`
    const caller = GUESSERS[id % GUESSERS.length] as string
    return { sort: 'found', number, phone, caller, header: toHeader('guess', id), isGuess: true }
  }
  return () => {
    const id = made++
    if (hasGuesses && id % GUESS_EVERY === 0) return nextGuess()
    const sort = sorts[Math.floor(Math.random() * sorts.length)] as Sort
    const number = toNumber(sort, id)
    const caller = CALLERS[id % 3 === 0 ? 1 : 0]
    return { sort, number, phone: toPhone(number), caller, header: toHeader('order', id), isGuess: false }
  }
}

const toPhone = (number: string) => `0${toPhoneCoreOf(number)}`

const toHeader = (name: string, id: number) => (Math.random() < 0.5 ? `${name}-${id}` : undefined)

/** Six wrong guesses about a number that was verified before, or was about to be. */
export const toProbes = ({ number, caller }: Wish, id: number): Wish[] =>
  Array.from({ length: 6 }, (_, index) => ({
    ...{ sort: 'found', number, caller, header: undefined, isGuess: true },
    phone: `0702${String(id).padStart(6, '0')}${index}`,
  }))

/** A wrong guess of one key under an Idempotency-Key. */
export const toGuess = (id: number, round: number): Wish => ({
  sort: 'found',
  number: toNumber('found', 6_000_000 + id),
  phone: `0703${String(round).padStart(7, '0')}`,
  caller: GUESSERS[0],
  header: `focus-${round}`,
  isGuess: true,
})

export const createBook = (): Book => ({
  wishes: [],
  answers: [],
  first: new Map(),
  open: new Map(),
  unsettled: new Map(),
  cut: [],
  faults: [],
  counts: { sent: 0, acknowledged: 0, replays: 0, failed: 0, refused: 0, unavailable: 0, cut: 0 },
})

/** How a request ended. `unsent`: nothing listened. */
export type Result = 'answered' | 'refused' | 'failed' | 'unavailable' | 'cut' | 'unsent'

const WAYS = 24
const PAUSE_MS = 20
const MAX_WAIT_MS = 60_000

export type Load = {
  /** Resolves after this many more. */
  readonly until: (what: keyof Counts, more: number) => Promise<void>
  /** Sends no new requests; resolves when all running ones have ended. */
  readonly stop: () => Promise<void>
}

export type VendorCallers = ReturnType<typeof createVendorCallers>

/** `keys`: the API keys by name. `urls`: the servers that are there now. */
export function createVendorCallers(
  book: Book,
  keys: ReadonlyMap<string, string>,
  urls: () => readonly string[],
  next: () => Wish,
) {
  const client = createClient(WAYS * 2)
  const running = new Set<string>()
  const watchers = new Set<() => void>()

  const send = async (url: string, wish: Wish): Promise<Result> => {
    const { number: nin, phone, caller, header } = wish
    const headers = {
      authorization: `Bearer ${keys.get(caller)}`,
      ...(header === undefined ? {} : { 'idempotency-key': header }),
    }
    book.counts.sent += 1
    const wasAnswered = header !== undefined && book.first.has(header)
    const result = await client
      .post(`${url}/api/v2/kyc/verify-nin`, { nin, phone }, headers)
      .then((reply) => note(book, wish, reply, wasAnswered))
      .catch((error) => noteLost(book, wish, error))
    for (const look of watchers) look()
    return result
  }
  const draw = () => {
    const list = urls()
    return list[Math.floor(Math.random() * list.length)] ?? 'http://127.0.0.1:9'
  }
  /** Some keys are used at two nodes at once. */
  const ask = async (wish: Wish): Promise<Result> => {
    const { header } = wish
    if (header !== undefined) {
      if (running.has(header)) return 'unavailable'
      running.add(header)
    }
    const isDouble = header !== undefined && urls().length > 1 && Math.random() < 0.1
    const [result = 'unsent'] = await Promise.all([
      send(draw(), wish),
      ...(isDouble ? [send(draw(), wish)] : []),
    ])
    if (header !== undefined) running.delete(header)
    return result
  }
  const askAll = async (wishes: readonly Wish[]) => {
    const left = [...wishes]
    const work = async () => {
      for (let wish = left.pop(); wish; wish = left.pop()) await ask(wish)
    }
    await Promise.all(Array.from({ length: WAYS }, work))
  }

  return {
    ask,
    askAll,
    /** Callers that send until they are stopped: new wishes, and those without a response again. */
    start: (): Load => {
      let isRunning = true
      const retries = [...book.open.values()]
      const take = () => {
        const again = Math.random() < 0.5 ? retries.pop() : undefined
        if (again) return again
        const wish = next()
        book.wishes.push(wish)
        if (wish.header !== undefined) book.open.set(wish.header, wish)
        return wish
      }
      const work = async () => {
        while (isRunning) {
          const result = await ask(take())
          if (result !== 'answered' && result !== 'refused') await pause(PAUSE_MS)
        }
      }
      const workers = Array.from({ length: WAYS }, work)
      return {
        until: (what, more) => until(watchers, book.counts, what, more),
        stop: async () => {
          isRunning = false
          await Promise.all(workers)
        },
      }
    },
    /** Repeats what has no response until all have one, or a failure that the vendors cause. */
    settle: async (waitMs: number): Promise<void> => {
      const end = performance.now() + waitMs
      let left = [...book.open.values()]
      while (left.length > 0 && performance.now() < end) {
        const failed = new Set<Wish>()
        const work = left.values()
        const askSome = async () => {
          for (const wish of work) if ((await ask(wish)) === 'failed') failed.add(wish)
        }
        await Promise.all(Array.from({ length: WAYS }, askSome))
        left = left.filter((wish) => book.open.has(wish.header ?? '') && !failed.has(wish))
        if (left.length > 0) await pause(250)
      }
      for (const { header } of left) book.faults.push(`${header}: never answered`)
    },
    close: client.close,
  }
}

function until(watchers: Set<() => void>, counts: Counts, what: keyof Counts, more: number): Promise<void> {
  const goal = counts[what] + more
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const giveUp = () => reject(new Error(`not ${more} more ${what} within ${MAX_WAIT_MS} ms`))
  const timer = setTimeout(giveUp, MAX_WAIT_MS).unref()
  const look = () => {
    if (counts[what] < goal) return
    clearTimeout(timer)
    watchers.delete(look)
    resolve()
  }
  watchers.add(look)
  look()
  return promise
}

function noteLost(book: Book, wish: Wish, error: unknown): Result {
  if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return 'unsent'
  book.counts.cut += 1
  addCut(book, wish)
  return 'cut'
}

function addCut(book: Book, wish: Wish): void {
  addUnsettled(book, wish)
  if (!wish.isGuess && wish.header === undefined && wish.sort === 'found') book.cut.push(wish)
}

const addUnsettled = ({ unsettled }: Book, { number }: Wish) =>
  void unsettled.set(number, (unsettled.get(number) ?? 0) + 1)

type Reply = { readonly status: number; readonly body: string; readonly headers: Record<string, unknown> }
type Fields = { code?: string; retryable?: boolean; data?: { request_reference?: string } }

function note(book: Book, wish: Wish, reply: Reply, wasAnswered: boolean): Result {
  const { status, body } = reply
  const { code = '', retryable, data } = JSON.parse(body) as Fields
  if (data?.request_reference !== undefined && (status === 200 || status === 422))
    return acknowledge(book, wish, reply, data.request_reference)
  if (code === 'audit_unavailable' || code === 'overloaded') {
    book.counts.unavailable += 1
    addCut(book, wish)
    return 'unavailable'
  }
  if (wasAnswered) book.faults.push(`${wish.header}: answered before, and now ${status} ${code}`)
  if (code === 'too_many_attempts' && wish.isGuess) {
    book.counts.refused += 1
    endWish(book, wish)
    return 'refused'
  }
  if (code.startsWith('source_')) {
    book.counts.failed += 1
    addUnsettled(book, wish)
    // The paid calls of the key are used up.
    if (retryable === false) endWish(book, wish)
    return 'failed'
  }
  if (code !== 'idempotency_in_progress' || wish.header === undefined)
    book.faults.push(`an unexpected answer: ${status} ${code}`)
  book.counts.unavailable += 1
  return 'unavailable'
}

function acknowledge(book: Book, wish: Wish, { status, body, headers }: Reply, reference: string): Result {
  const answer = { wish, status, body, reference, replayed: headers['idempotent-replayed'] === 'true' }
  book.answers.push(answer)
  if (wish.header !== undefined && !book.first.has(wish.header)) book.first.set(wish.header, answer)
  book.counts.acknowledged += 1
  if (answer.replayed) book.counts.replays += 1
  endWish(book, wish)
  return 'answered'
}

const endWish = ({ open }: Book, { header }: Wish) => header !== undefined && open.delete(header)
