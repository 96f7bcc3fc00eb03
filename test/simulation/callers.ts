import { type BatchFacts, type Book, isAnswer, isOpenRow, toAttempt, type Wish } from './book.ts'
import { ask, type Cluster, type Reply, type Request } from './cluster.ts'
import {
  otherPhoneOf,
  phoneOf,
  REGISTERED,
  toKnownNumber,
  toRegisteredNumber,
  toUnknownNumber,
} from './people.ts'
import { world } from './world.ts'

const VERIFY = '/api/v2/kyc/verify-nin'
const VERIFICATIONS = '/api/v2/kyc/verifications'
const BATCHES = '/api/v2/kyc/batches'

export type Callers = {
  /** A caller with one key, which asks for a while. */
  readonly play: (caller: string, requests: number) => Promise<void>
  /** Repeats what has no answer yet, reads what is pending, until nothing is open or the time is over. */
  readonly finish: (patience: Patience) => Promise<void>
}

type Patience = {
  /** Until then, what has no answer is asked for again. After it, what is pending is still read. */
  readonly asksUntilMs: number
  readonly untilMs: number
}

type CallersOptions = {
  readonly cluster: Cluster
  readonly book: Book
  /** The secrets by the names of callers; a key that is rolled changes. */
  readonly keys: ReadonlyMap<string, string>
  readonly hasRegistry: boolean
  /** Whether an Idempotency-Key may still pay for a call about this number. */
  readonly hasPaidCallsLeft: (number: string) => boolean
}

/** Shops that use the API as its documentation says. */
export function openCallers(options: CallersOptions): Callers {
  const { cluster, book, keys, hasRegistry, hasPaidCallsLeft } = options
  const { random } = world()
  const hot = Array.from({ length: 3 }, (_each, index) => toKnownNumber(900_000 + index))

  const newWish = (caller: string, given: Partial<Wish> = {}): Wish => {
    const id = book.wishes.length + 1
    const number = random.chance(0.12) ? toUnknownNumber(id) : toKnownNumber(id)
    const phone = random.chance(0.15) ? otherPhoneOf(number, 1) : phoneOf(number)
    const wish = {
      id,
      caller,
      number,
      phone,
      idempotencyKey: undefined,
      isAsync: false,
      isGuess: false,
      ...given,
    }
    book.wishes.push(wish)
    return wish
  }
  const send = async (
    caller: string,
    request: Omit<Request, 'headers'> & { headers?: Record<string, string> },
  ) => {
    const servers = cluster.servers()
    if (servers.length === 0) {
      await world().pause(random.between(20, 200))
      return undefined
    }
    const headers = {
      authorization: `Bearer ${keys.get(caller)}`,
      'content-type': 'application/json',
      ...request.headers,
    }
    const askedAt = world().elapsedMs
    const reply = await ask(random.pick(servers), { ...request, headers })
    if (!reply) book.resets += 1
    return reply && { ...reply, askedAt }
  }

  const verify = async (wish: Wish): Promise<Reply | undefined> => {
    const { caller, number, phone, idempotencyKey, isAsync } = wish
    const reply = await send(caller, {
      method: 'POST',
      path: VERIFY,
      headers: {
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(isAsync && { prefer: 'respond-async' }),
      },
      body: JSON.stringify({ nin: number, phone }),
    })
    if (reply) note(wish, reply)
    return reply
  }
  const note = (wish: Wish, reply: Reply, isRead = false) => {
    const attempt = toAttempt(wish, reply, isRead)
    book.attempts.push(attempt)
    world().note(
      `${wish.caller} ${wish.id} ${attempt.status} ${attempt.code ?? ''}${attempt.isReplay ? ' replay' : ''}`,
    )
    const { reference } = attempt
    if (attempt.status === 202 && reference !== undefined && !book.pending.has(reference))
      book.pending.set(reference, { wish, state: 'open' })
  }
  const read = async (reference: string): Promise<void> => {
    const pending = book.pending.get(reference)
    if (!pending) return
    const reply = await send(pending.wish.caller, { method: 'GET', path: `${VERIFICATIONS}/${reference}` })
    if (!reply) return
    note(pending.wish, reply, true)
    // An erased question is known for as long as it would have been open.
    const isForgotten = reply.status === 404 && book.erased.has(pending.wish.number)
    if (reply.status === 410 || isForgotten) pending.state = 'gone'
    else if (reply.status !== 202 && reply.status < 500 && reply.status !== 401) pending.state = 'ended'
    else if (reply.status === 504) pending.state = 'ended'
  }
  const cancel = async (reference: string): Promise<void> => {
    const pending = book.pending.get(reference)
    if (!pending) return
    const reply = await send(pending.wish.caller, { method: 'DELETE', path: `${VERIFICATIONS}/${reference}` })
    if (reply?.status === 204) pending.state = 'cancelled'
  }
  const upload = async (caller: string): Promise<void> => {
    const wishes = Array.from({ length: 2 + random.below(12) }, () => newWish(caller))
    const lines = wishes.map(({ number, phone, id }) => `verify_nin,${number},${phone},row ${id}`)
    const headers = { 'content-type': 'text/csv', 'idempotency-key': `batch-${wishes[0]?.id}` }
    for (let turn = 0; turn < 4; turn++) {
      const body = ['operation,nin,phone,reference', ...lines, ''].join('\n')
      const reply = await send(caller, { method: 'POST', path: BATCHES, headers, body })
      book.uploads.push({ wishes, endedAt: world().elapsedMs })
      const { data } = JSON.parse(reply?.body || '{}') as { data?: { id?: string } }
      world().note(`${caller} batch of ${wishes.length}: ${reply?.status}`)
      if (reply?.status === 202 && data?.id !== undefined) {
        book.batches.push({
          id: data.id,
          caller,
          wishes,
          results: [],
          isCancelled: false,
        })
        return
      }
      await world().pause(random.between(100, 2500))
    }
  }
  const readBatch = async (batch: BatchFacts): Promise<boolean> => {
    const reply = await send(batch.caller, { method: 'GET', path: `${BATCHES}/${batch.id}/results` })
    if (reply?.status !== 200) return false
    batch.results = reply.body
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    const isOpen = batch.results.some(isOpenRow)
    if (isOpen) batch.openAt = reply.askedAt
    return !isOpen
  }

  const readBatches = async (): Promise<boolean> => {
    let areRead = true
    for (const batch of book.batches.filter((each) => isActive(book, each)))
      areRead = (await readBatch(batch)) && areRead
    return areRead
  }

  /** With the same Idempotency-Key until there is an answer, as a client does. */
  const insist = async (wish: Wish, turns: number): Promise<void> => {
    for (let turn = 0; turn < turns && !book.erased.has(wish.number); turn++) {
      const reply = await verify(wish)
      if (
        reply &&
        (reply.status === 200 ||
          reply.status === 202 ||
          (reply.status >= 400 && reply.status < 500 && reply.status !== 409))
      )
        return
      await world().pause(random.between(10, 3000))
    }
  }
  const act: Readonly<Record<string, (caller: string) => Promise<unknown>>> = {
    single: (caller) => verify(newWish(caller)),
    // One of the operator's own records, which many ask about.
    registered: (caller) => {
      const number = toRegisteredNumber(random.below(REGISTERED))
      return verify(newWish(caller, { number, phone: phoneOf(number) }))
    },
    keyed: (caller) => insist(newKeyed(caller), 4),
    twice: (caller) => {
      const wish = newKeyed(caller)
      return Promise.all([
        insist(wish, 3),
        world()
          .pause(random.between(0, 400))
          .then(() => insist(wish, 3)),
      ])
    },
    again: async (caller) => {
      const known = book.attempts.filter(
        ({ wish }) => wish.caller === caller && wish.idempotencyKey !== undefined,
      )
      const { wish } = known.length > 0 ? random.pick(known) : {}
      if (!wish || book.erased.has(wish.number)) return
      await Promise.all(Array.from({ length: 1 + random.below(4) }, () => verify(wish)))
    },
    pending: (caller) => verify(newWish(caller, { isAsync: true })),
    pendingKeyed: (caller) => insist(newKeyed(caller, true), 3),
    read: async () => {
      if (book.pending.size > 0) await read(random.pick([...book.pending.keys()]))
    },
    cancel: async () => {
      if (book.pending.size > 0) await cancel(random.pick([...book.pending.keys()]))
    },
    batch: upload,
    guess: (caller) => {
      const number = random.pick(hot)
      const count = 1 + random.below(8)
      return Promise.all(
        Array.from({ length: count }, () =>
          verify(newWish(caller, { number, phone: otherPhoneOf(number, random.below(60)), isGuess: true })),
        ),
      )
    },
  }
  const newKeyed = (caller: string, isAsync = false) =>
    newWish(caller, { idempotencyKey: `order-${book.wishes.length + 1}`, isAsync })
  const kinds = Object.keys(act).filter((kind) => hasRegistry || kind !== 'registered')

  return {
    play: async (caller, requests) => {
      for (let turn = 0; turn < requests; turn++) {
        await world().pause(random.chance(0.2) ? random.between(0, 5) : random.between(50, 2500))
        await act[random.pick(kinds)]?.(caller)
      }
    },
    finish: async ({ asksUntilMs, untilMs }) => {
      const calmAt = world().elapsedMs
      const isHopeless = (wish: Wish) =>
        !hasPaidCallsLeft(wish.number) && (findLastReply(book, wish, calmAt)?.status ?? 0) >= 500
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
        const isAsking = world().elapsedMs < asksUntilMs
        const open = isAsking ? listUnanswered(book).filter((wish) => !isHopeless(wish)) : []
        await inTurn(open, verify)
        await inTurn(listOpen(book), read)
        const isRead = await readBatches()
        if (world().elapsedMs > untilMs || (isRead && open.length + listOpen(book).length === 0)) return
        await world().pause(pauseMs)
      }
    },
  }
}

/** Between two rounds of questions when all is calm. */
const FIRST_PAUSE_MS = 2000
const MAX_PAUSE_MS = 15_000

async function inTurn<T>(list: readonly T[], work: (each: T) => Promise<unknown>): Promise<void> {
  for (const each of list) await work(each)
}

const isActive = (book: Book, { caller }: { readonly caller: string }) => !book.revoked.has(caller)

/** Verifications with an Idempotency-Key that have no answer. */
function listUnanswered(book: Book): Wish[] {
  const answered = new Set(book.attempts.filter(isAnswer).map(({ wish }) => wish.idempotencyKey))
  return book.wishes.filter(
    (wish) =>
      wish.idempotencyKey !== undefined &&
      !wish.isAsync &&
      !answered.has(wish.idempotencyKey) &&
      !book.erased.has(wish.number) &&
      isActive(book, wish),
  )
}

const findLastReply = (book: Book, wish: Wish, sinceMs: number) =>
  book.attempts.findLast((attempt) => attempt.wish === wish && attempt.askedAt >= sinceMs)

/** References of pending verifications that have not ended. */
const listOpen = (book: Book): string[] =>
  [...book.pending].flatMap(([reference, { state, wish }]) =>
    state === 'open' && isActive(book, wish) ? [reference] : [],
  )
