import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { QueueHead } from '../../../src/ledger/queue-rows.ts'
import { createTurns } from '../../../src/verification/queue/worker.ts'

const toHead = (lineage: string, values: Partial<QueueHead> = {}): QueueHead => ({
  ...{ lineage, lane: 'single', mode: 'live', operation: 'verify_nin', dueMs: 0 },
  ...values,
})
const ANY = () => Number.POSITIVE_INFINITY

/** As the database lists them: the keys after the last turn, and then those up to it. */
const inTurn = (keys: readonly string[], after: string) => [
  ...keys.filter((key) => key > after),
  ...keys.filter((key) => key <= after),
]

describe('the turns of keys', () => {
  it('give each key with due work the same number of places, and all that are free', () => {
    const keys = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(
        keys,
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 40 }),
        (keys, free, rounds) => {
          const sorted = keys.toSorted()
          const turns = createTurns()
          const places = new Map(keys.map((key) => [key, 0]))
          let [given, most] = [0, 1]
          for (let round = 0; round < rounds; round++) {
            const heads = inTurn(sorted, turns.after()).map((key) => toHead(key))
            let ofRound = 0
            for (const { keys, each } of turns.share({ heads }, free, ANY))
              for (const key of keys) {
                places.set(key, (places.get(key) ?? 0) + each)
                ofRound += each
                most = Math.max(most, each)
              }
            expect(ofRound).toBeLessThanOrEqual(free)
            expect(ofRound).toBeGreaterThan(free - keys.length)
            given += ofRound
          }
          const counts = [...places.values()]
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(most)
          expect(given).toBe(counts.reduce((sum, count) => sum + count, 0))
        },
      ),
    )
  })

  it('let no key wait longer than one place of every other key, whenever its work comes', () => {
    const keys = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 9 })
    fc.assert(
      fc.property(keys, fc.nat(8), fc.nat(50), (keys, index, begins) => {
        const sorted = keys.toSorted()
        const late = keys[index % keys.length] as string
        const turns = createTurns()
        for (let place = 0; place < begins; place++)
          turns.share(
            {
              heads: inTurn(
                sorted.filter((key) => key !== late),
                turns.after(),
              ).map((key) => toHead(key)),
            },
            1,
            ANY,
          )
        let waited = 0
        for (;;) {
          const [take] = turns.share(
            { heads: inTurn(sorted, turns.after()).map((key) => toHead(key)) },
            1,
            ANY,
          )
          if (take?.keys[0] === late) break
          waited += 1
        }
        expect(waited).toBeLessThan(keys.length)
      }),
    )
  })

  it('begin no more of a class than its sources can answer, and give the place to another key', () => {
    const heads = [
      ...[toHead('a', { operation: 'verify_bvn' }), toHead('b', { operation: 'verify_bvn' })],
      ...[toHead('c', { dueMs: 5 }), toHead('d'), toHead('e', { mode: 'test' })],
    ]
    const mayBegin = ({ operation }: { operation: string }) =>
      operation === 'verify_bvn' ? 1 : Number.POSITIVE_INFINITY
    expect(createTurns().share({ heads }, 6, mayBegin)).toEqual([
      { lane: 'single', mode: 'live', operation: 'verify_bvn', keys: ['a'], each: 1 },
      { lane: 'single', mode: 'live', operation: 'verify_nin', keys: ['d'], each: 2 },
      { lane: 'single', mode: 'test', operation: 'verify_nin', keys: ['e'], each: 2 },
    ])
    expect(createTurns().share({ heads }, 6, () => 0)).toEqual([])
  })

  it('change between the operations of one key', () => {
    const turns = createTurns()
    const heads = [toHead('a', { dueMs: -9 }), toHead('a', { operation: 'verify_bvn' })]
    const taken = Array.from({ length: 4 }, () => turns.share({ heads }, 1, ANY)[0]?.operation)
    expect(taken).toEqual(['verify_nin', 'verify_bvn', 'verify_nin', 'verify_bvn'])
  })

  it('go on after keys that had nothing due', () => {
    const turns = createTurns()
    const heads = [toHead('a', { dueMs: 5 }), toHead('b', { dueMs: 5 })]
    turns.share({ heads, isPart: true }, 1, ANY)
    expect(turns.after()).toBe('b')
    turns.share({ heads: [], isPart: true }, 1, ANY)
    expect(turns.after()).toBe('b')
  })

  it('give places to keys elsewhere in turn, and go on over all keys meanwhile', () => {
    const turns = createTurns()
    const elsewhere = [toHead('x'), toHead('y')]
    const share = (key: string, dueMs: number) =>
      turns.share({ heads: [toHead(key, { dueMs })], isPart: true, elsewhere }, 1, ANY)[0]?.keys
    expect([share('a', 5), share('b', 5), share('c', 5)]).toEqual([['x'], ['y'], ['x']])
    expect(turns.after()).toBe('c')
    expect([share('d', 0), share('e', 5)]).toEqual([['d'], ['y']])
    expect(turns.after()).toBe('e')
  })
})
