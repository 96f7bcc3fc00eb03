import { expect, it } from 'vitest'
import { crashBatches } from '../battery/crash-batches.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

describeEngines([SQLITE, POSTGRES], (engine) => {
  it('ends each row of a batch once in spite of kill -9, in order, and tells the end once', async () => {
    const { options: store } = await engine.createPlace()
    const { dataDir, databaseUrl } = store
    const settings = { TABBAT_DATA_DIR: dataDir, ...(databaseUrl && { TABBAT_DATABASE_URL: databaseUrl }) }
    const { faults, calls, rows } = await crashBatches({ rounds: 3, settings, store, say: () => {} })
    expect(faults).toEqual([])
    expect(calls).toBeGreaterThanOrEqual(rows)
  }, 180_000)
})
