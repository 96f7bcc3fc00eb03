import { expect, it } from 'vitest'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { withDefaults } from '../../src/keys/options.ts'
import { createStoreMetrics } from '../../src/server/open-telemetry.ts'
import { printMetrics } from '../../src/telemetry/metric.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

const DAY_MS = 86_400_000
const NOW = Math.floor(Date.now() / 1000) * 1000
const NEXT = NOW + 5 * DAY_MS

const toKey = (id: string, more: Partial<KeyRow>): KeyRow => ({
  ...withDefaults({}),
  id,
  mode: 'live',
  name: 'Acme Lending',
  hash: Buffer.alloc(32),
  scopes: ['kyc:nin'],
  createdAt: NOW,
  expiresAt: undefined,
  revokedAt: undefined,
  rolledTo: undefined,
  lineage: id,
  ...more,
})

/** Only `next` counts; the others end earlier. */
const KEYS = [
  toKey('forever', {}),
  toKey('next', { expiresAt: NEXT }),
  toKey('later', { expiresAt: NEXT + DAY_MS }),
  toKey('expired', { expiresAt: NOW - DAY_MS }),
  toKey('revoked', { expiresAt: NOW + DAY_MS, revokedAt: NOW }),
  toKey('rolled', { expiresAt: NOW + DAY_MS, rolledTo: 'next' }),
  toKey('testing', { expiresAt: NOW + DAY_MS, mode: 'test' }),
]

describeEngines([SQLITE, POSTGRES], (engine) => {
  it('the metrics have no expiry when there is none, and 0 for a backup and a scrub that were never made', async () => {
    const store = await (await engine.createPlace()).open()
    const text = printMetrics(await createStoreMetrics(store, true)())
    expect(text).not.toContain('tabbat_api_key_next_expiry_timestamp_seconds')
    expect(text).toContain('\ntabbat_backup_timestamp_seconds 0\n')
    expect(text).toContain('\ntabbat_scrub_finished_timestamp_seconds 0\n')
    expect(printMetrics(await createStoreMetrics(store, false)())).not.toContain('scrub')
    await store.close()
  })

  it('the metrics have the next expiry and the last backup without naming a key, also while the store is unavailable', async () => {
    const store = await (await engine.createPlace()).open()
    for (const key of KEYS) await store.keys.insert(key)
    const at = new Date(NOW).toISOString()
    await store.meta.set({ last_backup_at: at, last_scrub_at: at, created_at: at })
    const read = createStoreMetrics(store, true)
    const text = printMetrics(await read())
    expect(text).toContain(`\ntabbat_api_key_next_expiry_timestamp_seconds ${NEXT / 1000}\n`)
    for (const what of ['backup', 'scrub_finished', 'database_created'])
      expect(text).toContain(`\ntabbat_${what}_timestamp_seconds ${NOW / 1000}\n`)
    expect(text).not.toMatch(/Acme|next"/)
    await store.close()
    expect(printMetrics(await read())).toBe(text)
  })
})
