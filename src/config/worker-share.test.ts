import { expect, it } from 'vitest'
import { loadConfig } from './config.ts'
import { toWorkerConfig } from './worker-share.ts'

const listShares = (limit: number, workers: number) => {
  const config = loadConfig({ TABBAT_MAX_IN_FLIGHT: String(limit), TABBAT_WORKERS: String(workers) }, '')
  return Array.from({ length: workers }, (_each, index) => toWorkerConfig(config, index + 1).maxInFlight)
}

it('divides the limits on concurrent requests among the workers, without exceeding them', () => {
  expect(listShares(1000, 1)).toEqual([1000])
  expect(listShares(1000, 3)).toEqual([334, 333, 333])
  expect(listShares(7, 4)).toEqual([2, 2, 2, 1])
  expect(listShares(1, 2)).toEqual([1, 1])
})
