import { expect, it } from 'vitest'
import type { Caller } from '../../src/keys/caller.ts'
import type { GuessTable } from '../../src/ledger/guess-table.ts'
import { createGuessLimit } from '../../src/verification/guess-limit.ts'

const CALLER = { keyId: 'one', lineage: 'one', subjectsPerDay: 10 } as Caller

/** A table that records what is written, and can be unavailable. */
function createTable() {
  const written: string[] = []
  const state = { isUnavailable: false }
  const write = (what: string) => async (_subject: Uint8Array, id: string) => {
    if (state.isUnavailable) throw new Error('store unavailable')
    written.push(`${what} ${id.split('/').at(-1)}`)
  }
  const table = {
    withdraw: write('withdraw'),
    confirm: write('confirm'),
  } as Partial<GuessTable> as GuessTable
  return { table, written, state }
}

/** As the commit does. */
const count = (guess: { counted: boolean }) => {
  guess.counted = true
}

it('identical guesses at the same time are one guess, which fails if one of them does', () => {
  const guessLimit = createGuessLimit(createTable().table)
  const [one, same] = [1, 2].map(() => guessLimit.open(CALLER, 'aa', '8031234567'))
  const other = guessLimit.open(CALLER, 'aa', '8031234568')
  if (!one || !same) throw new Error('unreachable')
  expect(same).toBe(one)
  expect(other).not.toBe(one)
  const { id } = guessLimit.toReserved(CALLER, one)
  expect(guessLimit.toReserved(CALLER, same).id).toBe(id)
  count(one)
  const last = guessLimit.open(CALLER, 'aa', '8031234567')
  expect(guessLimit.leave(one, false)).toBeUndefined()
  // Before the answer, so that a crash does not withdraw it.
  expect(guessLimit.leave(same, true)).toEqual({ subject: 'aa', id, isFailed: true })
  expect(guessLimit.leave(last, false)).toEqual({ subject: 'aa', id, isFailed: true })
  // It was never counted.
  guessLimit.toReserved(CALLER, other)
  expect(guessLimit.leave(other, false)).toBeUndefined()
  // The same guess later is another one.
  expect(guessLimit.open(CALLER, 'aa', '8031234567')).not.toBe(one)
})

it('what cannot be written is written before the next guess is counted', async () => {
  const { table, written, state } = createTable()
  const guessLimit = createGuessLimit(table)
  const guess = guessLimit.open(CALLER, 'aa', '8031234567')
  guessLimit.toReserved(CALLER, guess)
  count(guess)
  const settled = guessLimit.leave(guess, false)
  if (!settled) throw new Error('unreachable')
  state.isUnavailable = true
  await expect(guessLimit.settle(settled)).rejects.toThrow('unavailable')
  const doubtful = guessLimit.open(CALLER, 'bb', '8031234567')
  guessLimit.toReserved(CALLER, doubtful)
  guessLimit.withdrawLater(doubtful)
  await expect(guessLimit.catchUp()).rejects.toThrow('unavailable')
  expect(written).toEqual([])
  state.isUnavailable = false
  await guessLimit.catchUp()
  expect(written).toEqual(['withdraw 1', 'withdraw 2'])
  expect(guessLimit.catchUp()).toBeUndefined()
})
