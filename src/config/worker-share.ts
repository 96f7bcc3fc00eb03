import type { Config } from './config.ts'

/** The settings of one worker. Connections are distributed in turn, so the limits are divided equally. */
export function toWorkerConfig(config: Config, workerNumber: number): Config {
  const { workers, maxInFlight, maxInFlightPerKey, maxStrangersPerAddress } = config
  if (workers === 1) return config
  const share = (limit: number) => toShare(limit, workers, workerNumber)
  return {
    ...config,
    maxInFlight: share(maxInFlight),
    maxInFlightPerKey: maxInFlightPerKey === undefined ? undefined : share(maxInFlightPerKey),
    maxStrangersPerAddress: share(maxStrangersPerAddress),
  }
}

/** A worker's part of a limit. The parts add up to the limit, and each is at least 1. */
const toShare = (limit: number, workers: number, workerNumber: number) =>
  Math.max(1, Math.floor(limit / workers) + (workerNumber <= limit % workers ? 1 : 0))
