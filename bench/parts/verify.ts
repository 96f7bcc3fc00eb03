import { join } from 'node:path'
import { openPostgresRegistry } from '../postgres-registry.ts'
import { openPeople, openSqliteRegistry } from '../registry.ts'
import { type Figure, runRounds, type Variant } from '../rounds.ts'
import { startBare } from '../servers/bare.ts'
import { startExpress } from '../servers/peers.ts'
import type { Server } from '../servers/server.ts'
import { startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench } from './part.ts'

const LIMIT = 'bare node:http, POST'
const EXPRESS_PEOPLE = 100_000

/** What was started for the variants ends in the other order, because servers need their databases to the last. */
type Stop = () => Promise<void>

/** The verifications in test mode and in live mode, in the same rounds, so that they share their limit. */
export async function measureVerifications(bench: Bench): Promise<Figure[]> {
  const { parts } = bench.options
  const stops: Stop[] = []
  const keep = (server: Server) => {
    stops.unshift(server.stop)
    return server
  }
  try {
    // What has to be filled comes first: while it is, nothing else runs.
    const live = parts.has('live') ? await startLive(bench, stops) : []
    const tabbat = keep(await startTabbat({ dataDir: join(bench.folder, 'verify') }))
    const bare = keep(await startBare(tabbat, bench.folder))
    const variants: Variant[] = [{ name: LIMIT, server: bare, ask: VERIFICATIONS['verify-nin'] }]
    if (parts.has('verify'))
      for (const [name, ask] of Object.entries(VERIFICATIONS))
        variants.push({ name: `${name}, test`, server: tabbat, ask, limit: LIMIT })
    variants.push(...live)
    if (bench.hasPeers)
      for (const variant of await startExpresses(bench)) {
        keep(variant.server)
        variants.push(variant)
      }
    return await runRounds(variants, bench.options, bench.say)
  } finally {
    for (const stop of stops) await stop()
  }
}

async function startLive({ folder, options, say, note }: Bench, stops: Stop[]): Promise<Variant[]> {
  const count = options.records
  const toVariant = (engine: string, server: Server, key: string): Variant => ({
    name: `verify-nin, live, ${engine}, ${count} records`,
    server,
    ask: { ...VERIFICATIONS['verify-nin'], key, count },
    limit: LIMIT,
  })
  const postgres = await openPostgresRegistry(folder, count, say)
  if (typeof postgres !== 'string') stops.unshift(postgres.stop)
  const sqlite = await openSqliteRegistry(folder, count, say)
  const onSqlite = await startTabbat({ dataDir: sqlite.dataDir })
  stops.unshift(onSqlite.stop)
  const variants = [toVariant('SQLite', onSqlite, sqlite.key)]
  if (typeof postgres === 'string') {
    note(`PostgreSQL is left out: ${postgres}`)
    return variants
  }
  const env = { TABBAT_DATABASE_URL: postgres.url }
  const onPostgres = await startTabbat({ dataDir: postgres.dataDir, env })
  stops.unshift(onPostgres.stop)
  const beside = postgres.pid === undefined ? undefined : { name: 'PostgreSQL', pid: postgres.pid }
  return [...variants, { ...toVariant('PostgreSQL', onPostgres, postgres.key), beside }]
}

/** Of fewer people, which is to its advantage. */
async function startExpresses({ folder, options }: Bench): Promise<Variant[]> {
  const count = Math.min(EXPRESS_PEOPLE, options.records)
  const people = await openPeople(folder, count)
  const ask = { ...VERIFICATIONS['verify-nin'], count }
  const variants: Variant[] = []
  for (const tuning of ['as it comes', 'wal'] as const) {
    const server = await startExpress(folder, people, count, ask.key, tuning)
    variants.push({ name: `${server.name}, ${count} records`, server, ask, limit: LIMIT })
  }
  return variants
}
