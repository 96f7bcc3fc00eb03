import { findChainFaults } from './chain-check.ts'
import { findLost, type Row } from './ledger.ts'
import type { Book } from './vendor-callers.ts'
import type { VendorCall, VendorName } from './vendor-conduct.ts'
import { PRICES, VENDORS } from './vendor-ledger.ts'

/** The spend as `tabbat sources status` and `tabbat keys usage` show it. */
export type Money = {
  readonly sources: readonly {
    readonly source: string
    readonly callsToday: number
    readonly spentKoboToday: number
  }[]
  readonly keys: readonly {
    readonly name: string
    readonly paid_calls: number
    readonly cost_naira: number
  }[]
}

/** All that is compared: what the vendors received, what callers got, and what Tabbat has stored. */
export type VendorFacts = {
  readonly calls: readonly VendorCall[]
  readonly book: Book
  readonly rows: readonly Row[]
  readonly money: Money
  /** The keyed hash by which the audit log names a number. */
  readonly toSubject: (number: string) => string
  /** When PostgreSQL was away while the servers stayed up. */
  readonly crashes: readonly Crash[]
}

export type Crash = { readonly from: number; readonly to: number }

/** Servers never set their clocks back, so they may be ahead of ours. */
const MAX_AHEAD_MS = 1000

/** Settings and limits of the server. */
export const PAID_CALLS = 2
const MAX_GUESSES_OF_KEY = 5
const MAX_GUESSES = 20

export const CHECKS = {
  'intent before every call': findCallFaults,
  money: findMoneyFaults,
  'paid calls of a key': findBudgetFaults,
  'one response for a key': findResponseFaults,
  'guess limits': findGuessFaults,
  'audit log': findLogFaults,
} as const satisfies Record<string, (facts: VendorFacts) => string[]>

export const findVendorFaults = (facts: VendorFacts): string[] => [
  ...facts.book.faults,
  ...Object.values(CHECKS).flatMap((find) => find(facts)),
]

const countBy = <T>(list: readonly T[], toName: (each: T) => string): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const each of list) counts.set(toName(each), (counts.get(toName(each)) ?? 0) + 1)
  return counts
}

/** A search calls a vendor once at most, after its intent: the n-th call about a number has n intents before it. */
function findCallFaults({ calls, rows, toSubject }: VendorFacts): string[] {
  const intents = Map.groupBy(
    rows.filter(({ phase }) => phase === 'intent'),
    ({ subject }) => String(subject),
  )
  const seen = new Map<string, number>()
  return calls.flatMap(({ vendor, number, at }) => {
    const count = (seen.get(vendor + number) ?? 0) + 1
    seen.set(vendor + number, count)
    const before = (intents.get(toSubject(number)) ?? []).filter(
      ({ time }) => Date.parse(String(time)) <= at + MAX_AHEAD_MS,
    )
    return before.length >= count
      ? []
      : [`${vendor} was called ${count} times about ${number}, with ${before.length} intents before`]
  })
}

/** What is counted is what was billed, and at most one call of each vendor for a verification that a kill has cut. */
function findMoneyFaults(facts: VendorFacts): string[] {
  const cut = listCut(facts)
  const faults = VENDORS.flatMap((vendor) => {
    const { callsToday = 0, spentKoboToday = 0 } =
      facts.money.sources.find(({ source }) => source === vendor) ?? {}
    const excess = toExcess(facts.calls, facts.money.sources, vendor)
    const allowed = cut.length + countLateRefusals(facts, vendor)
    return [
      ...(excess < 0 ? [`${vendor} billed ${-excess} calls more than are counted (${callsToday})`] : []),
      ...(excess > allowed ? [`${vendor}: ${excess} calls too many are counted, ${allowed} were cut`] : []),
      ...(spentKoboToday === callsToday * PRICES[vendor] * 100
        ? []
        : [`${vendor}: ${callsToday} calls are counted as ${spentKoboToday} kobo`]),
    ]
  })
  return [...faults, ...findKeyMoneyFaults(facts, cut)]
}

/** Calls that are counted and were not billed. */
export function toExcess(calls: VendorFacts['calls'], sources: Money['sources'], vendor: VendorName): number {
  const billed = calls.filter((call) => call.vendor === vendor && call.billed).length
  return (sources.find(({ source }) => source === vendor)?.callsToday ?? 0) - billed
}

/** Verifications under way when something was killed: without an outcome, or with one that came after PostgreSQL was back. */
export function listCut({ rows, crashes }: Pick<VendorFacts, 'rows' | 'crashes'>): Row[] {
  const ends = new Map<unknown, number>()
  for (const { phase, request_reference, time } of rows)
    if (phase === 'outcome') ends.set(request_reference, Date.parse(String(time)))
  return rows.filter(({ phase, request_reference, time }) => {
    if (phase !== 'intent') return false
    const [start, end] = [Date.parse(String(time)), ends.get(request_reference)]
    return end === undefined || crashes.some(({ from, to }) => start <= to + MAX_AHEAD_MS && from <= end)
  })
}

/** A refusal that came after the search had ended without it: its refund may be lost with the server. */
function countLateRefusals({ calls, rows, toSubject }: VendorFacts, vendor: VendorName): number {
  const refused = new Set(
    calls.filter((call) => call.vendor === vendor && !call.billed).map(({ number }) => toSubject(number)),
  )
  const isLate = (sources: unknown) =>
    (JSON.parse(String(sources ?? '[]')) as { name: string; result: string }[]).some(
      ({ name, result }) => name === vendor && result === 'slow',
    )
  return rows.filter(
    ({ phase, subject, sources }) => phase === 'outcome' && refused.has(String(subject)) && isLate(sources),
  ).length
}

/** The guessers ask about the same numbers, so their calls are compared together. */
function findKeyMoneyFaults(
  { calls, book, money, rows, toSubject }: VendorFacts,
  cut: readonly Row[],
): string[] {
  const toGroup = (name: string) => (name.startsWith('guesser') ? 'guessers' : name)
  const groupOf = new Map(book.wishes.map(({ number, caller }) => [number, toGroup(caller)]))
  const subjects = new Map([...groupOf].map(([number, group]) => [toSubject(number), group]))
  const ofGroup = (list: readonly Row[], group: string) =>
    list.filter(({ subject }) => subjects.get(String(subject)) === group).length
  return [...new Set(groupOf.values())].flatMap((group) => {
    const billed = calls.filter(({ number, billed }) => billed && groupOf.get(number) === group)
    const kobo = billed.reduce((sum, { vendor }) => sum + PRICES[vendor], 0)
    const counted = money.keys.filter(({ name }) => toGroup(name) === group)
    const paidCalls = counted.reduce((sum, each) => sum + each.paid_calls, 0)
    const cost = counted.reduce((sum, each) => sum + each.cost_naira, 0)
    const late = rows.filter(
      ({ phase, sources }) => phase === 'outcome' && String(sources).includes('"slow"'),
    )
    const allowed = VENDORS.length * ofGroup(cut, group) + ofGroup(late, group)
    const excess = paidCalls - billed.length
    if (excess < 0 || cost < kobo)
      return [`${group}: ${billed.length} calls were billed, ${paidCalls} are counted`]
    if (excess > allowed) return [`${group}: ${excess} calls too many are counted, ${allowed} were cut`]
    return []
  })
}

/** However often a key is tried again, after however many crashes. */
function findBudgetFaults({ calls, book }: VendorFacts): string[] {
  const headers = new Map(
    book.wishes.flatMap(({ number, header, isGuess }) =>
      header === undefined || isGuess ? [] : [[number, header] as const],
    ),
  )
  const billed = countBy(
    calls.filter((call) => call.billed && headers.has(call.number)),
    ({ number }) => number,
  )
  return [...billed].flatMap(([number, count]) =>
    count > PAID_CALLS ? [`${headers.get(number)}: ${count} paid calls`] : [],
  )
}

/** The first response under a key is the only one, and it says what the vendors know. */
function findResponseFaults({ book: { answers, first } }: VendorFacts): string[] {
  return answers.flatMap((answer) => {
    const { wish, status } = answer
    const expected = wish.isGuess || wish.sort === 'unknown' ? 422 : 200
    const faults = status === expected ? [] : [`${wish.number} (${wish.sort}) was answered with ${status}`]
    const before = wish.header === undefined ? undefined : first.get(wish.header)
    return before && before !== answer ? [...faults, ...compareAnswers(before, answer)] : faults
  })
}

type Answer = VendorFacts['book']['answers'][number]

function compareAnswers(before: Answer, { wish, status, body, replayed }: Answer): string[] {
  if (before.body !== body || before.status !== status)
    return [`${wish.header}: answered twice, and differently`]
  // Of two requests at the same time, the replay may arrive before the answer that it repeats.
  return replayed || before.replayed ? [] : [`${wish.header}: answered twice, and not as a replay`]
}

/** Wrong guesses that were answered, and the calls that guesses have caused. */
function findGuessFaults({ calls, book }: VendorFacts): string[] {
  const guesses = [...new Map(book.answers.map((answer) => [answer.reference, answer])).values()].filter(
    ({ wish }) => wish.isGuess,
  )
  const ofKey = countBy(guesses, ({ wish }) => `${wish.number} of ${wish.caller}`)
  const ofAll = countBy(guesses, ({ wish }) => wish.number)
  const hot = new Set(book.wishes.filter(({ isGuess }) => isGuess).map(({ number }) => number))
  const called = countBy(
    calls.filter(({ number }) => hot.has(number)),
    ({ number }) => number,
  )
  const tooMany = (counts: ReadonlyMap<string, number>, toMost: (name: string) => number, what: string) =>
    [...counts].flatMap(([name, count]) =>
      count > toMost(name) ? [`${count} ${what} about ${name}, ${toMost(name)} are allowed`] : [],
    )
  return [
    ...tooMany(ofKey, () => MAX_GUESSES_OF_KEY, 'wrong guesses were answered'),
    ...tooMany(ofAll, () => MAX_GUESSES, 'wrong guesses were answered'),
    // A guess without an answer tells nothing, and is withdrawn. It may have called both vendors.
    ...tooMany(
      called,
      (number) => MAX_GUESSES + VENDORS.length * (book.unsettled.get(number) ?? 0),
      'calls for guesses',
    ),
  ]
}

/** Every response has its rows, a key has one outcome, and the chains are whole. */
function findLogFaults({ book, rows, toSubject }: VendorFacts): string[] {
  const outcomes = countBy(
    rows.filter(({ phase, outcome }) => phase === 'outcome' && /^(not_)?verified$/.test(String(outcome))),
    ({ subject }) => String(subject),
  )
  const twice = [...book.first.values()].flatMap(({ wish: { header, number, isGuess } }) => {
    const count = outcomes.get(toSubject(number)) ?? 0
    return isGuess || count === 1 ? [] : [`${header}: executed ${count} times`]
  })
  return [...findLost(book.answers, rows), ...twice, ...findChainFaults(rows)]
}
