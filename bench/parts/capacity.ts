import { CURRENT } from '../checkout.ts'
import { load } from '../load/generator.ts'
import type { RequestSpec } from '../load/request-spec.ts'
import { settle } from '../registry.ts'
import { median } from '../rounds.ts'
import { CONNECTIONS, VERIFICATIONS } from '../servers/tabbat.ts'
import { runClient } from './latency.ts'
import { type Live, type Stop, startPostgres, startSqlite } from './live.ts'
import type { Bench, Latency } from './part.ts'

const SHARES = [0.5, 0.8]

/** Response times of live verifications at 50 % and 80 % of the capacity that was measured just before. */
export async function measureCapacity(bench: Bench): Promise<Latency[]> {
  return [
    ...(await measureEngine(bench, 'SQLite', startSqlite)),
    ...(await measureEngine(bench, 'PostgreSQL', startPostgres)),
  ]
}

type Start = (bench: Bench, checkout: typeof CURRENT, stops: Stop[]) => Promise<Live | undefined>

async function measureEngine(bench: Bench, engine: string, start: Start): Promise<Latency[]> {
  const stops: Stop[] = []
  try {
    const live = await start(bench, CURRENT, stops)
    if (!live) return []
    settle()
    const spec = { ...VERIFICATIONS['verify-nin'], key: live.key, count: bench.options.records }
    const capacity = await measureRate(bench, live, spec)
    const results: Latency[] = []
    for (const share of SHARES) results.push(await measureAt(bench, live, spec, engine, share, capacity))
    return results
  } finally {
    for (const stop of stops) await stop()
  }
}

/** Requests a second with all connections busy; the first run warms up. */
async function measureRate({ options }: Bench, { server }: Live, spec: RequestSpec): Promise<number> {
  const plan = { port: server.port, spec, connections: CONNECTIONS.POST, seconds: options.seconds }
  await load(plan)
  const rates: number[] = []
  for (let round = 0; round < options.rounds; round++) rates.push((await load(plan)).perSecond)
  return median(rates)
}

async function measureAt(
  { options }: Bench,
  { server }: Live,
  spec: RequestSpec,
  engine: string,
  share: number,
  capacity: number,
): Promise<Latency> {
  const rate = Math.max(1, Math.round(capacity * share))
  const runs = []
  for (let round = 0; round < options.rounds; round++)
    runs.push(await runClient({ port: server.port, spec, rate, seconds: options.seconds }))
  return {
    name: `verify-nin, live, ${engine}, at ${share * 100} % of capacity (${rate}/s)`,
    p50Ms: median(runs.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(runs.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...runs.map(({ maxMs }) => maxMs)),
    refused: runs.reduce((sum, { refused }) => sum + refused, 0),
  }
}
