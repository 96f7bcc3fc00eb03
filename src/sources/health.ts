/** How one operation of a source has been doing lately. Times are milliseconds. */
export type Health = {
  readonly record: (succeeded: boolean, ms: number) => void
  readonly read: () => HealthFigures
}

export type HealthFigures = {
  readonly calls: number
  readonly failures: number
  /** Of the last questions; 0 when there were none. */
  readonly errorRate: number
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
  readonly lastSuccessAt: string | null
}

/** The last so many questions are remembered: enough for a 99th percentile, little enough to sort when asked. */
const REMEMBERED = 256

export function createHealth(now: () => number = Date.now): Health {
  const times = new Float64Array(REMEMBERED)
  const failed = new Uint8Array(REMEMBERED)
  let calls = 0
  let failures = 0
  let lastSuccess: number | undefined
  return {
    record: (succeeded, ms) => {
      const slot = calls % REMEMBERED
      times[slot] = ms
      failed[slot] = succeeded ? 0 : 1
      calls += 1
      if (succeeded) lastSuccess = now()
      else failures += 1
    },
    read: () => {
      const size = Math.min(calls, REMEMBERED)
      const sorted = times.slice(0, size).sort()
      const at = (part: number) =>
        size === 0 ? null : Math.round(sorted[Math.min(size - 1, Math.floor(size * part))] ?? 0)
      const recentFailures = failed.subarray(0, size).reduce((sum, one) => sum + one, 0)
      return {
        calls,
        failures,
        errorRate: size === 0 ? 0 : recentFailures / size,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        lastSuccessAt: lastSuccess === undefined ? null : new Date(lastSuccess).toISOString(),
      }
    },
  }
}
