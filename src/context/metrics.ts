import { createRequestCounts } from '../telemetry/request-counts.ts'
import { joinWorkers } from '../telemetry/worker-counts.ts'
import type { SourceChain } from './source-chain.ts'

export type Metrics = {
  readonly countRequest: (operation: string, mode: string, outcome: string, durationMs: number) => void
  /** Request counts are those of all workers; process figures are those of this process. */
  readonly print: () => Promise<string>
}

/** Labels come from closed lists (operations, modes, error codes), so the number of series is bounded. */
export function createMetrics(
  sourceChain: Pick<SourceChain, 'guards' | 'listSpend'>,
  scrubbedAt?: () => number | undefined,
): Metrics {
  const requests = createRequestCounts()
  const askOthers = joinWorkers(requests.dump)
  // prom-client is loaded with the first scrape: it is eighty files and would add 30 ms to the start.
  let gauges: Promise<{ readonly metrics: () => Promise<string> }> | undefined
  const openGauges = async () => (await import('./gauges.ts')).createGauges(sourceChain, scrubbedAt)
  return {
    countRequest: requests.count,
    print: async () => {
      gauges ??= openGauges()
      return `${await (await gauges).metrics()}\n${requests.print(await askOthers())}`
    },
  }
}
