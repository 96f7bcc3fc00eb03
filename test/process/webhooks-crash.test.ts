import { expect, it } from 'vitest'
import { crashWebhooks } from '../battery/crash-webhooks.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

describeEngines([SQLITE, POSTGRES], (engine) => {
  it('loses no event to kill -9, signs each rightly, and keeps the order of a reference', async () => {
    const { options: store } = await engine.createPlace()
    const { dataDir, databaseUrl } = store
    const settings = { TABBAT_DATA_DIR: dataDir, ...(databaseUrl && { TABBAT_DATABASE_URL: databaseUrl }) }
    const report = await crashWebhooks({ rounds: 3, settings, store, say: () => {} })
    expect(report.faults).toEqual([])
    expect(report.requests).toBeGreaterThanOrEqual(report.events)
  })
})
