import { afterEach, expect, it } from 'vitest'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const opened: TestApp[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const ROWS = 120
const ROWS_PER_MINUTE = 1200
const URL_OF_BATCHES = '/api/v2/kyc/batches'

it.skipIf(!hasPostgres())(
  'three nodes on one PostgreSQL verify one batch at the rate of its key',
  async () => {
    const settings = {
      TABBAT_DATABASE_URL: await createTestDatabase(),
      TABBAT_ROOT_KEY: createRootKeyText(),
      TABBAT_BATCH_RATE: String(ROWS_PER_MINUTE),
      TABBAT_BATCH_CONCURRENCY: '4',
    }
    for (let index = 0; index < 3; index++) opened.push(await openTestApp(settings))
    const [{ app, context, createKey }] = opened as [TestApp]
    const headers = bearer(await createKey())
    const rows = Array.from({ length: ROWS }, (_, index) =>
      JSON.stringify({ operation: 'verify_nin', nin: String(30_000_000_000 + index), phone: PHONE }),
    )
    const sent = await app.inject({
      method: 'POST',
      url: URL_OF_BATCHES,
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
      payload: rows.join('\n'),
    })
    const { id } = sent.json().data
    const get = async () => (await app.inject({ url: `${URL_OF_BATCHES}/${id}`, headers })).json().data
    await expect.poll(async () => (await get()).ended_at).not.toBeNull()
    const { counts, accepted_at, ended_at } = await get()
    expect(counts).toMatchObject({ waiting: 0, verified: ROWS, failed: 0 })
    // No row begins before its time: the rate holds over all nodes. The machine can only make it slower.
    const earliestMs = ((ROWS - 1) * 60_000) / ROWS_PER_MINUTE
    expect(Date.parse(ended_at) - Date.parse(accepted_at)).toBeGreaterThanOrEqual(earliestMs)

    const { store } = context
    const queued = await store.database
      .prepare('SELECT reference FROM batch_rows WHERE batch = $1 ORDER BY line')
      .all(id)
    expect(queued).toHaveLength(ROWS)
    const chains = new Set<string>()
    for (const { reference } of queued) {
      const outcomes = (await store.audit.byReference(String(reference))).filter(
        ({ phase }) => phase === 'outcome',
      )
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['verified'])
      for (const { chain } of outcomes) chains.add(chain)
    }
    expect(chains.size).toBeGreaterThan(1)
  },
)
