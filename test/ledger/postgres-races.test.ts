import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, steadyNow } from '../../src/contract/time.ts'
import { POSTGRES } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'
import { admitGuess } from './commit-parts.ts'

/** Two nodes that write at the same moment. Another session holds a lock until both are where the test wants them. */
describe.skipIf(!hasPostgres())('commits of several nodes on PostgreSQL', () => {
  let store: Store
  let other: Client
  beforeEach(async () => {
    const place = await POSTGRES.createPlace()
    store = await place.open()
    other = new Client({ connectionString: place.options.databaseUrl })
    await other.connect()
  })
  afterEach(async () => {
    await other.end()
    await store.close()
  })

  const countWaiting = async () => {
    const { rows } = await other.query('SELECT COUNT(*)::int AS waiting FROM pg_locks WHERE NOT granted')
    return rows[0]?.waiting
  }

  it('a guess is written if the guesses that refused it are withdrawn before it is decided', async () => {
    const subject = createHash('sha256').update('person').digest()
    const at = steadyNow()
    const limits = { at, since: at - DAY_MS, day: 1, maxByKey: 1, maxByAll: 1 }
    const admit = (keyId: string) =>
      admitGuess(store, { ...limits, id: keyId, subject, keyId, maxPeople: 10 })
    expect(await admit('one')).toBe('admitted')

    await other.query('BEGIN')
    await other.query("SELECT pg_advisory_xact_lock(hashtextextended('subjects:two', 0))")
    const admitting = admit('two')
    await expect.poll(countWaiting).toBe(1)
    await other.query('DELETE FROM attempts')
    await other.query('COMMIT')

    expect(await admitting).toBe('admitted')
    const { rows } = await other.query('SELECT id FROM attempts')
    expect(rows).toEqual([{ id: 'two' }])
  })
})
