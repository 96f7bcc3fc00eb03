import { expect, it } from 'vitest'
import type { StorageView } from '../../src/admin/settings.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { openTestConsole } from './test-console.ts'

it('shows sizes, growth, the disk and how long data is kept', async () => {
  const at = await openTestConsole({ TABBAT_AUDIT_KEEP: '1y', TABBAT_AUDIT_ARCHIVE_DIR: 'archives' })
  const { store, audit } = at.context
  const today = Math.floor(Date.now() / DAY_MS)
  await audit.record([{ phase: 'imported' }])
  for (const days of [3, 2, 1]) await store.storage.record({ day: today - days, bytes: 1000 }, 0)
  const answer = await at.request('/admin/storage', { cookie: await at.openSession('viewer') })
  expect(answer.status).toBe(200)
  const view = answer.json() as unknown as StorageView
  expect(view).toMatchObject({
    database: 'sqlite',
    tables: [],
    archives: [],
    bytes_per_day: 0,
    days_left: null,
    disk: { free_bytes: expect.any(Number), size_bytes: expect.any(Number) },
  })
  expect(view.audit_rows).toBeGreaterThan(0)
  expect(view.total_bytes).toBeGreaterThan(1000)
  expect(view.history).toHaveLength(4)
  expect(view.history[0]).toEqual({
    day: new Date((today - 3) * DAY_MS).toISOString().slice(0, 10),
    bytes: 1000,
  })
  expect(view.keep).toEqual(
    expect.arrayContaining([
      { setting: 'TABBAT_AUDIT_KEEP', value: '1y' },
      { setting: 'TABBAT_RECORDS_KEEP', value: 'off' },
      { setting: 'TABBAT_STATISTICS_KEEP', value: '800d' },
    ]),
  )
})
