import { expect, it } from 'vitest'
import { createMetrics } from './metrics.ts'

it('has the time of the last scrub from the start, as 0 before the first', async () => {
  let finishedAt: number | undefined
  const sourceChain = { guards: [], listSpend: async () => [] }
  const { print } = createMetrics({
    sourceChain,
    workerNumber: 1,
    scrubbedAt: () => finishedAt,
    certificate: undefined,
    readSizes: async () => [],
  })
  expect(await print()).toContain('\ntabbat_scrub_finished_timestamp_seconds 0\n')
  finishedAt = 1_700_000_000_000
  expect(await print()).toContain('\ntabbat_scrub_finished_timestamp_seconds 1700000000\n')
})
