import { join } from 'node:path'
import { execute } from '../../test/postgres.ts'
import { type Checkout, CURRENT, ROOT } from '../checkout.ts'
import { cores } from '../cores.ts'
import { openPostgresRegistry } from '../postgres-registry.ts'
import { type Figure, runRounds, toPair, type Variant } from '../rounds.ts'
import { findFreePort, launch, type Server } from '../servers/server.ts'
import { startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Stop } from './live.ts'
import type { Bench } from './part.ts'

export const SLOW_DATABASE = 'verify-nin, live, PostgreSQL 0.5 ms away'
const ROUND_TRIP_MS = 0.5
const COMMIT_MICROS = 1000
const CONNECTIONS = 256

/** A database on another machine: a network in between, and commits that take a millisecond. */
export async function measureSlowDatabase(bench: Bench): Promise<Figure[]> {
  const stops: Stop[] = []
  try {
    const current = await start(bench, CURRENT, stops)
    const earlier = bench.earlier && current && (await start(bench, bench.earlier, stops))
    if (!current) return []
    const variants: Variant[] = [false, true].flatMap((isIdempotent) => {
      const toAsk = (key: string) => ({
        ...VERIFICATIONS['verify-nin'],
        key,
        count: bench.options.records,
        isIdempotent,
        connections: CONNECTIONS,
      })
      const name = isIdempotent ? `${SLOW_DATABASE}, Idempotency-Key` : SLOW_DATABASE
      return toPair({ name, server: current.server, spec: toAsk(current.key) }, earlier?.server).map(
        (each) => (each.isEarlier && earlier ? { ...each, spec: toAsk(earlier.key) } : each),
      )
    })
    return await runRounds(variants, bench.options, bench.progress)
  } finally {
    for (const stop of stops) await stop()
  }
}

async function start(
  { folder, options, progress, note }: Bench,
  checkout: Checkout,
  stops: Stop[],
): Promise<{ readonly server: Server; readonly key: string } | undefined> {
  const registry = await openPostgresRegistry(checkout, folder, options.records, progress)
  if (typeof registry === 'string') {
    note(`The distant database is left out: ${registry}`)
    return undefined
  }
  stops.unshift(registry.stop)
  const { url, dataDir, key } = registry
  await execute(
    url,
    `ALTER SYSTEM SET commit_delay = ${COMMIT_MICROS}`,
    'ALTER SYSTEM SET commit_siblings = 0',
    'SELECT pg_reload_conf()',
  )
  const port = await findFreePort()
  const proxy = await launch({
    name: 'slow proxy',
    port,
    command: [
      process.execPath,
      join(ROOT, 'bench/slow-proxy.ts'),
      String(port),
      new URL(url).port,
      String(ROUND_TRIP_MS),
    ],
    readyPath: 'tcp',
    cwd: folder,
    core: cores.generator,
  })
  stops.unshift(proxy.stop)
  const env = { TABBAT_DATABASE_URL: Object.assign(new URL(url), { port: String(port) }).href }
  const server = await startTabbat({ checkout, dataDir, env })
  stops.unshift(server.stop)
  return { server, key }
}
