import { expect, it } from 'vitest'
import { createSizeMetrics } from '../../src/server/open-telemetry.ts'
import { printMetrics } from '../../src/telemetry/metric.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

describeEngines([SQLITE, POSTGRES], (engine) => {
  it('the metrics have the size of the database, and repeat it while the database is unavailable', async () => {
    const store = await (await engine.createPlace()).open()
    const read = createSizeMetrics(store)
    const text = printMetrics(await read())
    const total = Number(/^tabbat_database_size_bytes (\d+)$/m.exec(text)?.[1])
    expect(total).toBeGreaterThan(100_000)
    if (engine === POSTGRES) expect(text).toMatch(/^tabbat_table_size_bytes\{table="audit"\} \d{4,}$/m)
    await store.close()
    expect(printMetrics(await read())).toBe(text)
  })
})
