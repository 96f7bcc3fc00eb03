import type { Config } from './config.ts'

/** The part of a limit on requests under way that is a worker's: together they never have more, and each has at least one. */
const toShare = (limit: number, workers: number, place: number) =>
  Math.max(1, Math.floor(limit / workers) + (place <= limit % workers ? 1 : 0))

/** The settings of one worker. Connections are handed out in turn, so the parts are equal. */
export function toWorkerConfig(config: Config, place: number): Config {
  const { workers, maxInFlight, maxInFlightPerKey, maxStrangersPerAddress } = config
  if (workers === 1) return config
  const share = (limit: number) => toShare(limit, workers, place)
  return {
    ...config,
    maxInFlight: share(maxInFlight),
    maxInFlightPerKey: maxInFlightPerKey === undefined ? undefined : share(maxInFlightPerKey),
    maxStrangersPerAddress: share(maxStrangersPerAddress),
  }
}
