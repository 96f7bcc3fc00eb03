import { expect, it } from 'vitest'
import { crashPending } from '../battery/crash-pending.ts'
import { crashPostgres } from '../battery/crash-postgres.ts'
import { crashSqlite } from '../battery/crash-sqlite.ts'
import { hasOwnPostgres } from '../postgres.ts'

/** The short form of `npm run battery:crash`. */
const options = { isPatient: false, say: () => {} }

it.concurrent('six kill -9 of the server under load lose no acknowledged request', async () => {
  const { faults, figures } = await crashSqlite({ rounds: 6, ...options })
  expect(faults).toEqual([])
  expect(figures.acknowledged).toBeGreaterThan(0)
})

it.skipIf(!hasOwnPostgres()).concurrent(
  'two kill -9 of PostgreSQL lose no acknowledged request, and the server recovers',
  async () => {
    const { faults, figures } = await crashPostgres({ rounds: 2, ...options })
    expect(faults).toEqual([])
    expect(figures.unavailable).toBeGreaterThan(0)
  },
)

it.concurrent('three kill -9 with pending verifications: each that was accepted has one outcome', async () => {
  const { accepted, faults } = await crashPending({ rounds: 3, say: () => {}, endLeases: true })
  expect(faults).toEqual([])
  expect(accepted).toBeGreaterThan(0)
})
