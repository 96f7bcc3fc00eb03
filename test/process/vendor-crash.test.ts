import { beforeAll, describe, expect, it } from 'vitest'
import { crashVendorSqlite, findCapFaults } from '../battery/crash-vendor.ts'
import { CHECKS, findVendorFaults, type VendorFacts } from '../battery/vendor-checks.ts'
import type { VendorReport } from '../battery/vendor-run.ts'

/** The short form of `npm run battery:crash -- --vendor-sqlite 200`, and every check of it with facts that are wrong. */
let report: VendorReport
beforeAll(async () => {
  report = await crashVendorSqlite({ rounds: 2, calm: 30, say: () => {} })
})

it('two kill -9 of a server that calls vendors agree with the ledger of the vendors', () => {
  const { faults, figures, facts } = report
  expect(faults).toEqual([])
  expect(findVendorFaults(facts)).toEqual([])
  expect(figures.cut).toBeGreaterThan(0)
  expect(figures.replays).toBeGreaterThan(0)
})

type Mutation = readonly [
  check: keyof typeof CHECKS,
  what: string,
  change: (facts: VendorFacts) => Partial<VendorFacts>,
]

const MUTATIONS: readonly Mutation[] = [
  [
    'intent before every call',
    'a call without an intent',
    ({ rows, calls, toSubject }) => {
      const subject = toSubject(calls[0]?.number ?? '')
      return { rows: rows.filter((row) => row.phase !== 'intent' || row.subject !== subject) }
    },
  ],
  [
    'intent before every call',
    'a call before its intent',
    ({ calls: [first, ...others] }) => ({
      calls: first ? [{ ...first, at: first.at - 60_000 }, ...others] : [],
    }),
  ],
  [
    'money',
    'calls that are billed and not counted',
    ({ calls }) => ({ calls: calls.flatMap((call) => [call, call]) }),
  ],
  [
    'money',
    'calls that are counted and were neither made nor cut',
    ({ money, calls }) => ({
      money: {
        ...money,
        sources: money.sources.map((each) => ({ ...each, callsToday: each.callsToday + calls.length })),
      },
    }),
  ],
  [
    'money',
    'a kobo too much',
    ({ money }) => ({
      money: {
        ...money,
        sources: money.sources.map((each) => ({ ...each, spentKoboToday: each.spentKoboToday + 1 })),
      },
    }),
  ],
  [
    'money',
    'calls that no key has paid for',
    ({ money }) => ({ money: { ...money, keys: money.keys.map((each) => ({ ...each, paid_calls: 0 })) } }),
  ],
  [
    'paid calls of a key',
    'a third paid call',
    ({ calls, book }) => {
      const keyed = new Set(
        book.wishes.flatMap(({ number, header, isGuess }) =>
          header === undefined || isGuess ? [] : [number],
        ),
      )
      const call = calls.find(({ billed, number }) => billed && keyed.has(number))
      return { calls: call ? [...calls, call, call] : [] }
    },
  ],
  [
    'one response for a key',
    'a replay with another byte',
    ({ book }) => ({
      book: {
        ...book,
        answers: book.answers.map((answer) =>
          answer.replayed ? { ...answer, body: `${answer.body} ` } : answer,
        ),
      },
    }),
  ],
  [
    'one response for a key',
    'a person who is not known',
    ({ book }) => ({
      book: { ...book, answers: book.answers.map((answer) => ({ ...answer, status: 422 })) },
    }),
  ],
  [
    'guess limits',
    'a sixth wrong guess',
    ({ book }) => ({
      book: {
        ...book,
        answers: book.answers.flatMap((answer) =>
          Array.from({ length: 6 }, (_, index) => ({
            ...answer,
            reference: `${answer.reference}${index}`,
            wish: { ...answer.wish, isGuess: true },
          })),
        ),
      },
    }),
  ],
  [
    'guess limits',
    'a call for a guess above the limit',
    ({ book, calls }) => ({
      book: { ...book, wishes: book.wishes.map((wish) => ({ ...wish, isGuess: true })) },
      calls: Array.from({ length: 21 + 2 * book.counts.sent }, () => calls[0]).filter(
        (call) => call !== undefined,
      ),
    }),
  ],
  [
    'audit log',
    'a response without its outcome',
    ({ book, rows }) => ({
      rows: rows.filter(
        (row) => row.phase !== 'outcome' || row.request_reference !== book.answers[0]?.reference,
      ),
    }),
  ],
  ['audit log', 'an outcome twice', ({ rows }) => ({ rows: rows.flatMap((row) => [row, row]) })],
  [
    'audit log',
    'a changed row',
    ({ rows: [first, ...others] }) => ({ rows: first ? [{ ...first, detail: 'changed' }, ...others] : [] }),
  ],
]

describe('the comparison with the ledger of the vendors', () => {
  it.each(MUTATIONS)('%s: finds %s', (check, _what, change) => {
    const { facts } = report
    expect(CHECKS[check]({ ...facts, ...change(facts) })).not.toEqual([])
  })

  it('finds a cap that was exceeded, and one that cannot be used up', () => {
    const source = { source: 'dojah', callsToday: 3, spentKoboToday: 15_000 }
    const call = { at: 0, vendor: 'dojah', number: '', billed: true, conduct: 'answers' } as const
    const facts = { ...report.facts, calls: [call, call, call], money: { sources: [source], keys: [] } }
    expect(findCapFaults({ facts }, 150)).toEqual([])
    expect(findCapFaults({ facts }, 199)).toEqual([])
    expect(findCapFaults({ facts }, 149)).toEqual([
      'the vendor billed 150 naira, the cap is 149',
      '150 naira are counted, the cap is 149',
    ])
    expect(findCapFaults({ facts }, 200)).toEqual(['150 naira of 200 are counted, and no call is allowed'])
  })
})
