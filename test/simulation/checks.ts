import { findChainFaults } from '../battery/chain-check.ts'
import { type Attempt, isAnswer, isOpenRow, isRight, type Wish } from './book.ts'
import type { Disturbance } from './disturbances.ts'
import type { Facts, Row } from './facts.ts'
import { isKnown, isRegistered, phoneOf, surnameOf } from './people.ts'
import { PRICES, VENDORS } from './vendors.ts'

/**
 * What must hold after every run, whatever went wrong in it. The checks compare what callers, vendors and receivers saw with the rows
 * of the database, which are read by plain SQL. No code of the product takes part.
 */
export const INVARIANTS = {
  'no acknowledged verification without its rows': findLost,
  'no verified answer that no vendor gave': findInvented,
  'no false "not verified"': findFalseDenials,
  'paid calls within the budget': findBudgetFaults,
  'spend equals the ledgers of the vendors': findSpendFaults,
  'one outcome per Idempotency-Key': findSecondOutcomes,
  'every Idempotency-Key is answered when all is calm': findUnanswered,
  'no more wrong guesses than the limit': findGuessFaults,
  'every pending question and batch row ends once': findQueueFaults,
  'every webhook is delivered or waiting, in order': findWebhookFaults,
  'chains verify': ({ audit }) => findChainFaults(audit),
  'statistics equal the audit log': findCountFaults,
  'an erased person is found nowhere': findUnerased,
  'a revoked key is refused': findRevokedAnswers,
  'nothing personal is readable': findLeaks,
  'a restored backup has what was confirmed before it': findRestoreFaults,
} as const satisfies Record<string, (facts: Facts) => string[]>

export type Invariant = keyof typeof INVARIANTS

export const findFaults = (facts: Facts): string[] =>
  Object.entries(INVARIANTS).flatMap(([name, find]) => find(facts).map((fault) => `${name}: ${fault}`))

const OUTCOMES: Readonly<Record<number, string>> = { 200: 'verified', 422: 'not_verified' }

const countBy = <T>(list: Iterable<T>, toName: (each: T) => string): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const each of list) counts.set(toName(each), (counts.get(toName(each)) ?? 0) + 1)
  return counts
}

const answersOf = ({ book }: Facts): Attempt[] => book.attempts.filter(isAnswer)

function findLost(facts: Facts): string[] {
  const outcomes = new Map<unknown, unknown>()
  const begun = new Set<unknown>()
  const replays = new Map<unknown, number>()
  for (const { phase, request_reference: reference, outcome } of facts.audit) {
    if (phase === 'intent') begun.add(reference)
    if (phase === 'outcome') outcomes.set(reference, outcome)
    if (phase === 'replay') replays.set(reference, (replays.get(reference) ?? 0) + 1)
  }
  return answersOf(facts).flatMap(({ reference, status, isReplay, isRead, wish }) => {
    if (outcomes.get(reference) !== OUTCOMES[status])
      return [`${wish.id} was answered with ${status}, and has no such outcome`]
    if (!begun.has(reference)) return [`${wish.id} was answered without an intent`]
    if (!isReplay && !isRead) return []
    const left = (replays.get(reference) ?? 0) - 1
    replays.set(reference, left)
    return left < 0 ? [`${wish.id} was repeated, and the log does not say so`] : []
  })
}

/** Batch rows are answers too. */
function listVerified(facts: Facts): Wish[] {
  const single = answersOf(facts).filter(({ status }) => status === 200)
  const rows = facts.book.batches.flatMap(({ wishes, results }) =>
    results.flatMap(({ line, status }) => (status === 200 ? [wishes[line - 2] as Wish] : [])),
  )
  return [...single.map(({ wish }) => wish), ...rows]
}

function findInvented(facts: Facts): string[] {
  const told = new Set(facts.ledger.flatMap(({ number, says }) => (says === 'record' ? [number] : [])))
  const verified = listVerified(facts).flatMap((wish) => {
    if (!isRight(wish)) return [`${wish.id} is verified, and its phone is not on record`]
    return told.has(wish.number) || isRegistered(wish.number)
      ? []
      : [`${wish.id} is verified, and no vendor gave a record`]
  })
  const bodies = answersOf(facts).flatMap(({ wish, status, body }) =>
    status === 200 && !body.includes(surnameOf(wish.number))
      ? [`${wish.id} got the record of somebody else`]
      : [],
  )
  return [...verified, ...bodies]
}

function findFalseDenials(facts: Facts): string[] {
  const rows = facts.book.batches.flatMap(({ wishes, results }) =>
    results.flatMap(({ line, status }) => (status === 422 ? [wishes[line - 2] as Wish] : [])),
  )
  const single = answersOf(facts).filter(({ status }) => status === 422)
  return [...single.map(({ wish }) => wish), ...rows]
    .filter((wish) => isRight(wish) && !facts.book.erased.has(wish.number))
    .map(({ id }) => `${id} is right, and was answered with "not verified"`)
}

/** How many calls an Idempotency-Key may pay for. */
export const budgetOf = ({ settings }: Pick<Facts, 'settings'>) => Number(settings.TABBAT_PAID_CALLS ?? 2)

export const countBilled = ({ ledger }: Pick<Facts, 'ledger'>, about: string) =>
  ledger.filter(({ billed, number }) => billed && number === about).length

function findBudgetFaults(facts: Facts): string[] {
  const { book, ledger } = facts
  const limited = new Set(
    book.wishes
      .filter(({ idempotencyKey, isAsync }) => idempotencyKey !== undefined || isAsync)
      .map(({ number }) => number),
  )
  for (const { wishes } of book.batches) for (const { number } of wishes) limited.add(number)
  const billed = countBy(
    ledger.filter((call) => call.billed && limited.has(call.number)),
    ({ number }) => number,
  )
  return [...billed].flatMap(([number, count]) =>
    count > budgetOf(facts) ? [`${count} calls about ${number} were paid`] : [],
  )
}

/** Verifications that a death or a failing disk has cut: their money may be counted without a call. */
function countCut({ audit }: Facts): number {
  const ended = new Set(
    audit.flatMap(({ phase, request_reference }) => (phase === 'outcome' ? [request_reference] : [])),
  )
  return audit.filter(({ phase, request_reference }) => phase === 'intent' && !ended.has(request_reference))
    .length
}

const DEADLY = [
  'kill',
  'kill_at_statement',
  'kill_at_commit',
  'power_cut',
  'disk_full',
  'locked',
  'nodes_come_and_go',
  'commits_fail',
  'answers_lost',
  'database_away',
  'database_silent',
]

const isCut = ({ disturbances }: Facts) => disturbances.some((each) => DEADLY.includes(each))

function findSpendFaults(facts: Facts): string[] {
  const isDisturbed = isCut(facts)
  const sum = (table: string, vendor: string, column: string) =>
    facts
      .rows(table)
      .filter(({ name }) => name === vendor)
      .reduce((total, row) => total + Number(row[column]), 0)
  return VENDORS.flatMap((vendor) => {
    const billed = facts.ledger.filter((call) => call.vendor === vendor && call.billed).length
    const counted = sum('source_spend', vendor, 'calls') + sum('spend_shares', vendor, 'calls')
    const kobo =
      sum('source_spend', vendor, 'kobo') +
      sum('spend_shares', vendor, 'kobo') -
      sum('spend_shares', vendor, 'leased_kobo')
    const ofKeys = sum('key_spend', vendor, 'calls') + sum('key_spend_shares', vendor, 'calls')
    const cap = Number(facts.settings[`TABBAT_${vendor.toUpperCase()}_DAILY_CAP`] ?? Number.POSITIVE_INFINITY)
    return [
      ...(counted < billed ? [`${vendor} billed ${billed} calls, ${counted} are counted`] : []),
      ...(!isDisturbed && counted !== billed
        ? [`${vendor} billed ${billed} calls, ${counted} are counted, and nothing was cut`]
        : []),
      ...(isDisturbed && counted - billed > 2 * countCut(facts) + 8
        ? [`${vendor}: ${counted - billed} calls too many are counted`]
        : []),
      ...(ofKeys === counted ? [] : [`${vendor}: ${counted} calls are counted, ${ofKeys} for the keys`]),
      ...(kobo === counted * PRICES[vendor] * 100
        ? []
        : [`${vendor}: ${counted} calls are counted as ${kobo} kobo`]),
      ...(billed * PRICES[vendor] > cap
        ? [`${vendor} billed ${billed * PRICES[vendor]} naira of a cap of ${cap}`]
        : []),
    ]
  })
}

const MOVES_TIME: ReadonlySet<Disturbance> = new Set(['clock', 'standstill'])

function findSecondOutcomes(facts: Facts): string[] {
  const first = new Map<string, Attempt>()
  const differing = answersOf(facts).flatMap((attempt) => {
    const { idempotencyKey } = attempt.wish
    // What was erased may be asked for again.
    if (idempotencyKey === undefined || facts.book.erased.has(attempt.wish.number)) return []
    const before = first.get(idempotencyKey)
    if (!before) first.set(idempotencyKey, attempt)
    if (!before || (before.body === attempt.body && before.status === attempt.status)) return []
    return [`${idempotencyKey} was answered twice, and differently`]
  })
  // In SQLite a claim ends by the clock of the machine. What a process found after that is in the log, and is not answered.
  if (facts.disturbances.some((each) => MOVES_TIME.has(each))) return differing
  const outcomes = countBy(
    facts.audit.filter(
      ({ phase, outcome }) => phase === 'outcome' && /^(not_)?verified$/.test(String(outcome)),
    ),
    ({ subject }) => String(subject),
  )
  const twice = facts.book.wishes.flatMap(({ idempotencyKey, number, isGuess }) => {
    const count = outcomes.get(facts.hashes.subject(number)) ?? 0
    return idempotencyKey !== undefined && !isGuess && !facts.book.erased.has(number) && count > 1
      ? [`${idempotencyKey} was executed ${count} times`]
      : []
  })
  return [...differing, ...twice]
}

/** Callers have asked for a minute while all was calm: longer than a lease, and than a breaker is open. */
function findUnanswered(facts: Facts): string[] {
  const { book } = facts
  const answered = new Set(answersOf(facts).map(({ wish }) => wish.idempotencyKey))
  const open = book.wishes.filter(
    ({ idempotencyKey, isAsync, caller, number }) =>
      idempotencyKey !== undefined &&
      !isAsync &&
      !answered.has(idempotencyKey) &&
      !book.revoked.has(caller) &&
      !book.erased.has(number),
  )
  // A call that was cut, or that a claim has outlived, may count without a bill.
  const isExact = !isCut(facts) && !facts.disturbances.some((each) => MOVES_TIME.has(each))
  return open.flatMap((wish) => {
    const last = book.attempts.findLast((attempt) => attempt.wish === wish)
    if (!last) return [`${wish.idempotencyKey} never got a reply`]
    if (last.code === 'idempotency_in_progress') return [`${wish.idempotencyKey} is still in progress`]
    const billed = countBilled(facts, wish.number)
    return !isExact || billed >= budgetOf(facts)
      ? []
      : [`${wish.idempotencyKey} has paid for ${billed} calls, and got ${last.status} ${last.code}`]
  })
}

const MAX_GUESSES_OF_KEY = 5
const MAX_GUESSES = 20

function findGuessFaults(facts: Facts): string[] {
  // The same guess, repeated, tells nothing new, and counts once while it runs.
  const told = answersOf(facts).filter(({ wish, status }) => wish.isGuess && status === 422)
  const guesses = [
    ...new Map(
      told.map((each) => [`${each.wish.caller} ${each.wish.number} ${each.wish.phone}`, each]),
    ).values(),
  ]
  const ofKey = countBy(guesses, ({ wish }) => `${wish.number} by ${wish.caller}`)
  const ofAll = countBy(guesses, ({ wish }) => wish.number)
  return [
    ...[...ofKey].filter(([, count]) => count > MAX_GUESSES_OF_KEY),
    ...[...ofAll].filter(([, count]) => count > MAX_GUESSES),
  ].map(([name, count]) => `${count} wrong guesses about ${name} were answered`)
}

function findQueueFaults(facts: Facts): string[] {
  const ends = countBy(
    facts.audit.filter(({ phase }) => phase === 'outcome'),
    ({ request_reference }) => String(request_reference),
  )
  const pending = [...facts.book.pending].flatMap(([reference, { state, wish }]) => {
    if (facts.book.revoked.has(wish.caller)) return []
    if (state === 'open') return [`${wish.id} was accepted as pending, and has no end`]
    const count = ends.get(reference) ?? 0
    const expected = state === 'ended' ? 1 : undefined
    if (expected !== undefined && count !== expected)
      return [`${wish.id} was accepted as pending, and has ${count} outcomes`]
    return count > 1 ? [`${wish.id} has ${count} outcomes`] : []
  })
  const batches = facts.book.batches.flatMap(({ wishes, results, caller }) => {
    if (facts.book.revoked.has(caller)) return []
    if (results.length !== wishes.length)
      return [`a batch of ${wishes.length} rows has ${results.length} results`]
    return results.flatMap(({ line, state }) =>
      isOpenRow({ state }) ? [`row ${line} of a batch is ${state}`] : [],
    )
  })
  const twice = [...ends].flatMap(([reference, count]) =>
    count > 1 ? [`${reference} has ${count} outcomes`] : [],
  )
  return [...pending, ...batches, ...twice]
}

function findWebhookFaults(facts: Facts): string[] {
  const stored = facts.rows('webhook_deliveries')
  const isKnown = new Set(stored.map(({ reference }) => String(reference)))
  const accepted = new Set(facts.deliveries.flatMap(({ id, isAccepted }) => (isAccepted ? [id] : [])))
  const unsigned = facts.deliveries.flatMap(({ id, isSigned }) =>
    isSigned ? [] : [`${id} has a wrong signature`],
  )
  const missing = [...facts.book.pending].flatMap(([reference, { state, wish }]) =>
    state === 'ended' && !isKnown.has(reference) ? [`${wish.id} has ended, and no event was stored`] : [],
  )
  const lost = stored.flatMap(({ event_id, state }) =>
    state === 'delivered' && !accepted.has(String(event_id))
      ? [`${event_id} counts as delivered, and never arrived`]
      : [],
  )
  const untold = facts.book.batches.flatMap(({ id, wishes, results }) =>
    results.length === wishes.length && !results.some(isOpenRow) && !isKnown.has(id)
      ? [`batch ${id} has ended, and no event was stored`]
      : [],
  )
  return [
    ...unsigned,
    ...missing,
    ...untold,
    ...lost,
    ...findOvertaken(facts),
    ...findWrongTurns(facts),
    ...findWrongEnds(facts),
    ...findEarlyEnds(facts),
  ]
}

/** Of any reference: an event waits until the one that was stored before it is accepted or given up. */
function findOvertaken({ deliveries, rows }: Facts): string[] {
  const hasArrived = (found: number) => found >= 0
  return [...Map.groupBy(rows('webhook_deliveries'), ({ reference }) => String(reference))].flatMap(
    ([reference, stored]) => {
      const inOrder = stored.toSorted((one, other) => Number(one.position) - Number(other.position))
      return inOrder.slice(1).flatMap((event, index) => {
        const before = inOrder[index] as Row
        const arrived = deliveries.findIndex(({ id }) => id === event.event_id)
        const accepted = deliveries.findIndex(({ id, isAccepted }) => id === before.event_id && isAccepted)
        const hasWaited = before.state === 'failed' || (hasArrived(accepted) && accepted < arrived)
        return !hasArrived(arrived) || hasWaited
          ? []
          : [`${reference}: event ${event.event_id} did not wait for the one before it`]
      })
    },
  )
}

/** A source goes down and up in turn. So do its events, whatever arrives again. */
function findWrongTurns({ deliveries }: Facts): string[] {
  const ofSources = deliveries.filter(({ type }) => type.startsWith('source.'))
  return [...Map.groupBy(ofSources, ({ reference }) => reference)].flatMap(([reference, arrived]) => {
    const first = arrived.filter(({ id }, index) => arrived.findIndex((each) => each.id === id) === index)
    return first.flatMap(({ id, type }, index) =>
      type === (index % 2 === 0 ? 'source.down' : 'source.up')
        ? []
        : [`${reference}: event ${id} (${type}) arrived out of turn`],
    )
  })
}

const STATUS_OF: Readonly<Record<string, string>> = {
  verified: 'VERIFIED',
  not_verified: 'NOT_VERIFIED',
  expired: 'EXPIRED',
}

const ROW_COUNTS = ['refused', 'verified', 'not_verified', 'failed', 'expired', 'cancelled']

/** A verification and a batch end once, and so do their events. An event says how it ended. */
function findWrongEnds({ audit, rows }: Facts): string[] {
  const ends = rows('webhook_deliveries').filter(({ type }) => /^(verification|batch)\./.test(String(type)))
  const outcomes = new Map(
    audit.flatMap(({ phase, request_reference, outcome }) =>
      phase === 'outcome' ? [[request_reference, String(outcome)]] : [],
    ),
  )
  const twice = [...countBy(ends, ({ reference }) => String(reference))].flatMap(([reference, count]) =>
    count > 1 ? [`${count} events say that ${reference} has ended`] : [],
  )
  const wrong = ends.flatMap(({ type, reference, body }) => {
    const { data } = JSON.parse(String(body)) as { data: Readonly<Record<string, unknown>> }
    if (type === 'batch.completed') {
      const ended = ROW_COUNTS.reduce((sum, name) => sum + Number(data[name]), 0)
      return ended === data.rows
        ? []
        : [`${reference} is told to have ended with ${ended} of ${data.rows} rows`]
    }
    const outcome = outcomes.get(reference)
    const status = outcome === undefined ? 'no end' : (STATUS_OF[outcome] ?? 'FAILED')
    const isOfType = (type === 'verification.expired') === (status === 'EXPIRED')
    return data.status === status && isOfType
      ? []
      : [`${reference} is told as ${type} ${data.status}, and the log says ${outcome}`]
  })
  return [...twice, ...wrong]
}

/** Who is told of an end can read it: nothing is open any more. */
function findEarlyEnds({ book, deliveries }: Facts): string[] {
  const told = new Map<string, number>()
  for (const { type, reference, at } of deliveries)
    if (/^(verification|batch)\./.test(type) && !told.has(reference)) told.set(reference, at)
  const isTold = (reference: string | undefined, at: number) =>
    at > (told.get(reference ?? '') ?? Number.POSITIVE_INFINITY)
  const pending = book.attempts.flatMap(({ wish, status, isRead, reference, askedAt }) =>
    isRead && status === 202 && isTold(reference, askedAt)
      ? [`${wish.id} is told to have ended, and is still pending`]
      : [],
  )
  const batches = book.batches.flatMap(({ id, openAt }) =>
    openAt !== undefined && isTold(id, openAt)
      ? [`batch ${id} is told to have ended, and has open rows`]
      : [],
  )
  return [...pending, ...batches]
}

/** By key, operation and outcome. Minutes are not kept for long. */
function findCountFaults({ audit, rows }: Facts): string[] {
  const toName = ({ key_id, operation, outcome }: Row) =>
    `${key_id ?? ''} ${operation ?? ''} ${outcome ?? ''}`
  const there = countBy(
    audit.filter(({ phase }) => phase === 'outcome'),
    toName,
  )
  return ['hour', 'day'].flatMap((span) => {
    const counted = new Map<string, number>()
    for (const row of rows('statistics').filter((each) => each.span === span))
      counted.set(toName(row), (counted.get(toName(row)) ?? 0) + Number(row.count))
    return [...new Set([...there.keys(), ...counted.keys()])].flatMap((name) =>
      counted.get(name) === there.get(name)
        ? []
        : [
            `${counted.get(name) ?? 0} outcomes (${name}) are counted by ${span}, the log has ${there.get(name) ?? 0}`,
          ],
    )
  })
}

/** Where something of a person is stored until it is erased: by which hash, and in which columns. */
export const HOLDS_PEOPLE: Readonly<Record<string, Holder>> = {
  registry: { hash: 'record', columns: ['sealed'], returns: 'never' },
  media: { hash: 'record', columns: ['sealed'], returns: 'never' },
  idempotency: { hash: 'subject', columns: ['sealed'], returns: 'answered' },
  reused_results: { hash: 'reused', columns: ['sealed'], returns: 'answered' },
  queued_verifications: { hash: 'subject', columns: ['question', 'answer'], returns: 'accepted' },
  batch_rows: { hash: 'subject', columns: ['question', 'label'], returns: 'accepted' },
}

type Holder = {
  readonly hash: keyof Facts['hashes']
  readonly columns: readonly string[]
  /** What brings the person back: nothing that callers do, a question that is accepted, or one that is accepted or answered. */
  readonly returns: 'never' | 'accepted' | 'answered'
}

/** An erasure leaves these: they have keyed hashes alone. */
export const KEEPS_HASHES: readonly string[] = ['audit', 'attempts', 'key_subjects', 'erasures']

/**
 * A request that was under way when the person was erased may still be answered. A batch that is sent again after an erasure brings
 * its people back, also if the server dies before it says so.
 */
function findUnerased({ book, ledger, rows, hashes }: Facts): string[] {
  /** A question that is accepted while the erasure runs may come after it. */
  const isAskedLater = (number: string) => {
    const begunAt = book.erasing.get(number) ?? Number.POSITIVE_INFINITY
    const isLater = (wish: Wish, at: number) => wish.number === number && at > begunAt
    return (
      book.uploads.some(({ endedAt, wishes }) => wishes.some((wish) => isLater(wish, endedAt))) ||
      book.attempts.some(({ wish, status, at }) => status === 202 && isLater(wish, at))
    )
  }
  const answered = book.attempts.flatMap(({ wish, status, askedAt, isRead, isReplay }) => {
    const erasedAt = book.erased.get(wish.number) ?? Number.POSITIVE_INFINITY
    const isKept = (isRead && !isAskedLater(wish.number)) || isReplay || isRegistered(wish.number)
    return status === 200 && isKept && askedAt > erasedAt
      ? [`${wish.id} was erased, and its record is still given`]
      : []
  })
  /** A caller who waited got an answer about which a vendor was asked after the erasure. */
  const isAnsweredAnew = (number: string, erasedAt: number) =>
    ledger.some((call) => call.number === number && call.at > erasedAt) &&
    book.attempts.some(
      ({ wish, status, at, isRead, isReplay }) =>
        status === 200 && !isRead && !isReplay && wish.number === number && at > erasedAt,
    )
  const isBack = (number: string, erasedAt: number, returns: Holder['returns']) =>
    (returns !== 'never' && isAskedLater(number)) ||
    (returns === 'answered' && isAnsweredAnew(number, erasedAt))
  const stored = Object.entries(HOLDS_PEOPLE).flatMap(([table, { hash, columns, returns }]) => {
    const erased = new Map(
      [...book.erased].flatMap(([number, at]) =>
        Number.isFinite(at) && !isBack(number, at, returns) ? [[hashes[hash](number), number]] : [],
      ),
    )
    return rows(table).flatMap((row) => {
      const number = erased.get(toHex(row.subject))
      return number !== undefined && columns.some((column) => isFilled(row[column]))
        ? [`${number} was erased, and ${table} still has it`]
        : []
    })
  })
  return [...answered, ...stored]
}

/** For a minute an erasure leaves an empty result for reuse. */
const isFilled = (value: unknown) => value !== null && !(value instanceof Uint8Array && value.length === 0)

const toHex = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : '')

/** As the documentation promises. */
const REVOKED_WITHIN_MS = 1000

function findRevokedAnswers({ book }: Facts): string[] {
  return book.attempts.flatMap(({ wish, askedAt, status }) =>
    status !== 401 &&
    status < 500 &&
    askedAt > (book.revoked.get(wish.caller) ?? Number.POSITIVE_INFINITY) + REVOKED_WITHIN_MS
      ? [`${wish.caller} was revoked, and ${wish.id} got ${status}`]
      : [],
  )
}

function findLeaks({ readable, book }: Facts): string[] {
  const secrets = book.wishes.flatMap(({ number, phone }) => [
    number,
    phone.slice(1),
    phoneOf(number).slice(1),
    ...(isKnown(number) ? [surnameOf(number)] : []),
  ])
  const pattern = new RegExp([...new Set(secrets)].join('|'))
  if (secrets.length === 0) return []
  const errors = book.attempts.flatMap(({ status, body, code }) =>
    status !== 200 && pattern.test(body) ? [`an error (${status} ${code}) names a person`] : [],
  )
  return [
    ...errors,
    ...readable.flatMap(({ name, text }) => (pattern.test(text) ? [`${name} names a person`] : [])),
  ]
}

function findRestoreFaults(facts: Facts): string[] {
  const { book } = facts
  return facts.restored.flatMap(({ begunAt, ...restored }) => {
    const before = {
      ...book,
      attempts: book.attempts.filter(({ at }) => at < begunAt),
      erased: new Map([...book.erased].filter(([, at]) => at < begunAt)),
    }
    const then = { ...facts, ...restored, book: before }
    const valid = restored.rows('api_keys').flatMap(({ id, name, revoked_at }) => {
      const revokedAt = book.revokedIds.get(String(id)) ?? Number.POSITIVE_INFINITY
      return revoked_at === null && revokedAt < begunAt ? [`${name} was revoked, and is valid`] : []
    })
    return [
      ...findLost(then),
      // A question may be accepted between the begin of a backup and the moment whose rows it has.
      ...findUnerased({ ...then, book: { ...book, erased: before.erased } }),
      ...findLeaks({ ...then, book }),
      ...findChainFaults(restored.audit),
      ...valid,
    ]
  })
}

export type { Row }
