import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Caller } from '../../src/keys/caller.ts'
import type { GuessTable } from '../../src/ledger/guess-table.ts'
import { createGuessLimit } from '../../src/verification/guess-limit.ts'

const CALLER = { keyId: 'one', lineage: 'one', subjectsPerDay: 10 } as Caller
const LIMIT = 5

/** A table in memory that writes withdrawals only after `letGo`, as PostgreSQL may on another connection. */
function createSlowTable() {
  const counted = new Set<string>()
  const { promise: free, resolve: letGo } = Promise.withResolvers<void>()
  const table = {
    admit: async ({ id = '' }: { readonly id?: string }) => {
      if (counted.size >= LIMIT) return 'too_many_attempts'
      counted.add(id)
      return 'admitted'
    },
    withdraw: async (_subject: Uint8Array, id: string) => {
      await free
      counted.delete(id)
    },
    confirm: async () => {},
  } as Partial<GuessTable> as GuessTable
  return { table, letGo, counted }
}

it('correct guesses whose withdrawal is still being written do not count against the next ones', async () => {
  const { table, letGo, counted } = createSlowTable()
  const guessLimit = createGuessLimit(table)
  const guessRight = async () => {
    const guess = await guessLimit.reserve(CALLER, 'aa', '8031234567')
    await guess.settle(false)
  }
  const askMany = async () => {
    for (let request = 0; request < 3 * LIMIT; request++) await guessRight()
  }
  const asked = expect(askMany()).resolves.toBeUndefined()
  // A guess for another number does not wait.
  const other = await guessLimit.reserve(CALLER, 'bb', '8031234567')
  await other.settle(false)
  await nextTurn()
  letGo()
  await asked
  await guessLimit.finish()
  expect(counted.size).toBe(0)
})
