import { type Checkout, CURRENT } from '../checkout.ts'
import { openPostgresRegistry } from '../postgres-registry.ts'
import { openSqliteRegistry } from '../registry.ts'
import { toPair, type Variant } from '../rounds.ts'
import type { Server } from '../servers/server.ts'
import { startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench } from './part.ts'

export type Stop = () => Promise<void>

export type Live = { readonly server: Server; readonly key: string; readonly beside?: Variant['beside'] }

/** Connections at which the processor time of Node.js and PostgreSQL together is judged. */
const POSTGRES_CONNECTIONS = 128

/** verify-nin with a live key over a filled registry, on both databases, with and without an Idempotency-Key. */
export async function startLive(bench: Bench, limit: string, stops: Stop[]): Promise<Variant[]> {
  const { earlier, options } = bench
  const sqlite = await startSqlite(bench, CURRENT, stops)
  const sqliteBefore = earlier && (await startSqlite(bench, earlier, stops))
  const postgres = await startPostgres(bench, CURRENT, stops)
  const postgresBefore = earlier && postgres && (await startPostgres(bench, earlier, stops))
  const toVariants = (engine: string, live: Live, before: Live | undefined, connections?: number) =>
    [false, true].flatMap((isIdempotent) => {
      const name = `verify-nin, live, ${engine}, ${options.records} records${isIdempotent ? ', Idempotency-Key' : ''}`
      const spec = {
        ...VERIFICATIONS['verify-nin'],
        key: live.key,
        count: options.records,
        isIdempotent,
        ...(connections ? { connections } : {}),
      }
      const variant = { name, server: live.server, spec, limit, beside: live.beside }
      return toPair(variant, before?.server).map((each) =>
        before && each.server === before.server
          ? { ...each, spec: { ...spec, key: before.key }, beside: before.beside }
          : each,
      )
    })
  return [
    ...toVariants('SQLite', sqlite, sqliteBefore),
    ...(postgres ? toVariants('PostgreSQL', postgres, postgresBefore, POSTGRES_CONNECTIONS) : []),
  ]
}

export async function startSqlite(
  { folder, options, progress }: Bench,
  checkout: Checkout,
  stops: Stop[],
): Promise<Live> {
  const { dataDir, key } = await openSqliteRegistry(checkout, folder, options.records, progress)
  const server = await startTabbat({ checkout, dataDir })
  stops.unshift(server.stop)
  return { server, key }
}

export async function startPostgres(
  { folder, options, progress, note }: Bench,
  checkout: Checkout,
  stops: Stop[],
): Promise<Live | undefined> {
  const registry = await openPostgresRegistry(checkout, folder, options.records, progress)
  if (typeof registry === 'string') {
    note(`PostgreSQL is left out: ${registry}`)
    return undefined
  }
  stops.unshift(registry.stop)
  const { dataDir, key, pid } = registry
  const server = await startTabbat({ checkout, dataDir, env: { TABBAT_DATABASE_URL: registry.url } })
  stops.unshift(server.stop)
  return { server, key, beside: pid === undefined ? undefined : { name: 'PostgreSQL', pid } }
}
