/** Settings that the workers of a node divide. */
type SharedSettings = {
  readonly workers: number
  readonly maxInFlight: number
  readonly maxInFlightPerKey: number | undefined
  readonly maxWaiting: number
  readonly maxStrangersPerAddress: number
}

/** The settings of one worker. Connections are distributed in turn, so the limits are divided equally. */
export function toWorkerConfig<T extends SharedSettings>(config: T, workerNumber: number): T {
  const { workers, maxInFlight, maxInFlightPerKey, maxWaiting, maxStrangersPerAddress } = config
  if (workers === 1) return config
  const share = (limit: number) => toShare(limit, workers, workerNumber)
  return {
    ...config,
    maxInFlight: share(maxInFlight),
    maxInFlightPerKey: maxInFlightPerKey === undefined ? undefined : share(maxInFlightPerKey),
    maxWaiting: share(maxWaiting),
    maxStrangersPerAddress: share(maxStrangersPerAddress),
  }
}

/** A limit below the number of workers would leave a worker without a part, and connections that reach it without an answer. */
export function listShareProblems({ workers = 1, ...limits }: Partial<SharedSettings>): string[] {
  const names = {
    TABBAT_MAX_IN_FLIGHT: limits.maxInFlight,
    TABBAT_MAX_IN_FLIGHT_PER_KEY: limits.maxInFlightPerKey,
    TABBAT_MAX_WAITING: limits.maxWaiting,
    TABBAT_MAX_STRANGERS_PER_ADDRESS: limits.maxStrangersPerAddress,
  }
  return Object.entries(names).flatMap(([name, limit]) =>
    limit !== undefined && limit < workers
      ? [
          `${name} must be at least TABBAT_WORKERS (${workers}), because workers divide it. Raise it, or use fewer workers`,
        ]
      : [],
  )
}

/** A worker's part of a limit. The parts add up to the limit. */
const toShare = (limit: number, workers: number, workerNumber: number) =>
  Math.floor(limit / workers) + (workerNumber <= limit % workers ? 1 : 0)
