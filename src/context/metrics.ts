import { createRequestCounts } from '../telemetry/request-counts.ts'
import { joinWorkers } from '../telemetry/worker-counts.ts'
import type { SourceChain } from './source-chain.ts'

export type Metrics = {
  readonly countRequest: (operation: string, mode: string, outcome: string, durationMs: number) => void
  /** Of all workers of this server, as far as requests go; the process itself tells of itself. */
  readonly print: () => Promise<string>
}

/** Labels come from closed lists (operations, modes, error codes), so there is a bound to the number of series. */
export function createMetrics(
  sourceChain: Pick<SourceChain, 'guards' | 'listSpend'>,
  scrubbedAt?: () => number | undefined,
): Metrics {
  const requests = createRequestCounts()
  const askOthers = joinWorkers(requests.dump)
  // Loaded when somebody looks: it is eighty files, and 30 ms from start to ready.
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
