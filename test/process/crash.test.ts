import { expect, it } from 'vitest'
import { crashPostgres } from '../battery/crash-postgres.ts'
import { crashSqlite } from '../battery/crash-sqlite.ts'
import { hasOwnPostgres } from '../postgres.ts'

/** The short form of `npm run battery:crash`. */
const options = { isPatient: false, say: () => {} }

it.concurrent('six kill -9 of the server under load lose nothing that was acknowledged', async () => {
  const { faults, figures } = await crashSqlite({ rounds: 6, ...options })
  expect(faults).toEqual([])
  expect(figures.acknowledged).toBeGreaterThan(0)
})

it.skipIf(!hasOwnPostgres()).concurrent(
  'nor do two of PostgreSQL, and the server is back by itself',
  async () => {
    const { faults, figures } = await crashPostgres({ rounds: 2, ...options })
    expect(faults).toEqual([])
    expect(figures.unavailable).toBeGreaterThan(0)
  },
)
