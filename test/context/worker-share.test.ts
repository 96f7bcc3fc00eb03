import { expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { toWorkerConfig } from '../../src/context/worker-share.ts'

const listShares = (limit: number, workers: number) => {
  const config = loadConfig({ TABBAT_MAX_IN_FLIGHT: String(limit), TABBAT_WORKERS: String(workers) }, '')
  return Array.from({ length: workers }, (_each, index) => toWorkerConfig(config, index + 1).maxInFlight)
}

it('divides the limits on concurrent requests among the workers, without exceeding them', () => {
  expect(listShares(1000, 1)).toEqual([1000])
  expect(listShares(1000, 3)).toEqual([334, 333, 333])
  expect(listShares(7, 4)).toEqual([2, 2, 2, 1])
  expect(listShares(2, 2)).toEqual([1, 1])
})

it.each(['TABBAT_MAX_IN_FLIGHT', 'TABBAT_MAX_IN_FLIGHT_PER_KEY', 'TABBAT_MAX_STRANGERS_PER_ADDRESS'])(
  '%s is refused below the number of workers, which divide it',
  (name) => {
    expect(() => loadConfig({ [name]: '1', TABBAT_WORKERS: '2' }, '')).toThrow(
      `${name} must be at least TABBAT_WORKERS (2), because workers divide it.`,
    )
    expect(() => loadConfig({ [name]: '2', TABBAT_WORKERS: '2' }, '')).not.toThrow()
    expect(() => loadConfig({ [name]: '1' }, '')).not.toThrow()
  },
)
