import { randomBytes, randomUUID } from 'node:crypto'
import type { Guess } from '../../src/ledger/guess-table.ts'

/** A guess at a new subject by a new key, with limits that a test can reach. */
export const toGuess = (values: Partial<Guess> = {}): Guess => ({
  id: randomUUID(),
  subject: randomBytes(32),
  keyId: randomUUID(),
  at: 2,
  since: 1,
  maxByKey: 5,
  maxByAll: 20,
  day: 20_000,
  maxPeople: 1_000_000,
  ...values,
})
