import { findChainFaults } from './chain-check.ts'
import type { Reply } from './client.ts'
import { PEOPLE, PHONE, toBvn } from './place.ts'

/** A verification to send. With an Idempotency-Key its amount is unique, which identifies its rows. */
export type Wish = {
  readonly operation: 'nin' | 'bvn'
  readonly mode: 'test' | 'live'
  readonly payload: { readonly phone: string; readonly amount?: string } & Record<string, string>
  readonly header: string | undefined
}

type Answer = {
  readonly wish: Wish
  readonly status: number
  readonly body: string
  readonly reference: string
  readonly replayed: boolean
}

export type Row = Readonly<Record<string, unknown>>

export type Ledger = {
  /** The next verification; half of them have an Idempotency-Key, half are for live keys, a quarter is not verified. */
  readonly next: () => Wish
  readonly note: (wish: Wish, reply: Reply) => void
  /** Idempotency-Keys without an answer. */
  readonly unanswered: () => Wish[]
  /** A sample of answered verifications. */
  readonly answered: (most: number) => Wish[]
  readonly counts: {
    sent: number
    acknowledged: number
    replays: number
    /** Refused because the audit log was unavailable. */
    unavailable: number
    /** Refused because the machine is overloaded. Not a fault. */
    overloaded: number
  }
  /** Compares the answers with the audit log and lists the faults. */
  readonly findFaults: (rows: readonly Row[]) => string[]
}

const OUTCOMES: Readonly<Record<number, string>> = { 200: 'verified', 422: 'not_verified' }

/** `firstId`: ledgers of one database need different ids. */
export function createLedger(firstId = 0): Ledger {
  const answers: Answer[] = []
  const unanswered = new Map<string, Wish>()
  const first = new Map<string, Answer>()
  const faults: string[] = []
  const counts = { sent: 0, acknowledged: 0, replays: 0, unavailable: 0, overloaded: 0 }
  let made = firstId

  const acknowledge = (answer: Answer) => {
    const { header } = answer.wish
    answers.push(answer)
    counts.acknowledged += 1
    if (answer.replayed) counts.replays += 1
    if (header === undefined) return
    unanswered.delete(header)
    const before = first.get(header)
    if (!before) first.set(header, answer)
    else if (before.body !== answer.body || before.status !== answer.status || !answer.replayed)
      faults.push(`${header}: answered twice, and differently`)
  }

  return {
    next: () => {
      const wish = toWish(++made)
      counts.sent += 1
      if (wish.header !== undefined) unanswered.set(wish.header, wish)
      return wish
    },
    note: (wish, { status, body, headers }) => {
      const { code, data } = JSON.parse(body) as { code?: string; data?: { request_reference?: string } }
      const reference = data?.request_reference
      if (reference !== undefined && OUTCOMES[status] !== undefined)
        acknowledge({ wish, status, body, reference, replayed: headers['idempotent-replayed'] === 'true' })
      else if (code === 'audit_unavailable') counts.unavailable += 1
      else if (code === 'overloaded') counts.overloaded += 1
      else if (code !== 'idempotency_in_progress' || wish.header === undefined)
        faults.push(`an unexpected answer: ${status} ${code}`)
    },
    unanswered: () => [...unanswered.values()],
    answered: (most) => {
      const all = [...first.values()]
      return Array.from({ length: Math.min(most, all.length) }, () => draw(all).wish)
    },
    counts,
    findFaults: (rows) => [
      ...faults,
      ...[...unanswered.keys()].map((header) => `${header}: never answered`),
      ...findChainFaults(rows),
      ...findLost(answers, rows),
      ...findTwice(first, rows),
    ],
  }
}

function toWish(id: number): Wish {
  const mode = id % 4 < 2 ? 'live' : 'test'
  if (id % 2 === 0) {
    const nin = mode === 'live' ? String(80_000_000_000 + id) : String(20_000_000_000 + id)
    return { operation: 'nin', mode, payload: { nin, phone: PHONE }, header: undefined }
  }
  const bvn =
    mode === 'live' ? toBvn(id % PEOPLE) : id % 8 === 3 ? '00000000422' : String(20_000_000_000 + id)
  return { operation: 'bvn', mode, payload: { bvn, phone: PHONE, amount: String(id) }, header: `order-${id}` }
}

/** Every answer is in the audit log with the same outcome, once for each replay. */
export function findLost(
  answers: readonly Pick<Answer, 'reference' | 'status' | 'replayed'>[],
  rows: readonly Row[],
): string[] {
  const outcomes = new Map<unknown, unknown>()
  const replays = new Map<unknown, number>()
  const intents = new Set<unknown>()
  for (const { phase, request_reference: reference, outcome, started_at } of rows) {
    // A verification inside the process has its start in the row of its outcome.
    if (phase === 'intent' || started_at !== null) intents.add(reference)
    if (phase === 'outcome') outcomes.set(reference, outcome)
    if (phase === 'replay') replays.set(reference, (replays.get(reference) ?? 0) + 1)
  }
  return answers.flatMap(({ reference, status, replayed }) => {
    if (outcomes.get(reference) !== OUTCOMES[status] || !intents.has(reference))
      return [`${reference}: acknowledged and lost`]
    if (!replayed) return []
    const left = (replays.get(reference) ?? 0) - 1
    replays.set(reference, left)
    return left < 0 ? [`${reference}: replayed without a row`] : []
  })
}

/** An amount belongs to one Idempotency-Key and has one outcome. */
function findTwice(first: ReadonlyMap<string, Answer>, rows: readonly Row[]): string[] {
  const times = new Map<unknown, number>()
  for (const { phase, amount, outcome } of rows)
    if (phase === 'outcome' && amount !== null && Object.values(OUTCOMES).includes(String(outcome)))
      times.set(amount, (times.get(amount) ?? 0) + 1)
  return [...first].flatMap(([header, { wish }]) => {
    const count = times.get(wish.payload.amount) ?? 0
    return count === 1 ? [] : [`${header}: executed ${count} times`]
  })
}

const draw = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T
