import { join } from 'node:path'
import { openPeople } from '../registry.ts'
import { type Figure, runRounds, toPair, type Variant } from '../rounds.ts'
import { startBare } from '../servers/bare.ts'
import { startExpress } from '../servers/peers.ts'
import type { Server } from '../servers/server.ts'
import { startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import { type Stop, startLive } from './live.ts'
import type { Bench } from './part.ts'

const LIMIT = 'bare node:http, POST'
const EXPRESS_PEOPLE = 100_000

/** The verifications in test mode and in live mode, in the same rounds, so that they share their limit. */
export async function measureVerifications(bench: Bench): Promise<Figure[]> {
  const { folder, earlier } = bench
  const { parts } = bench.options
  // Servers stop before their databases: the last started stops first.
  const stops: Stop[] = []
  const keep = (server: Server) => {
    stops.unshift(server.stop)
    return server
  }
  try {
    // Registries are filled first: nothing else runs meanwhile.
    const live = parts.has('live') ? await startLive(bench, LIMIT, stops) : []
    const tabbat = keep(await startTabbat({ dataDir: join(folder, 'verify') }))
    const bare = keep(await startBare(tabbat, folder))
    const variants: Variant[] = [{ name: LIMIT, server: bare, spec: VERIFICATIONS['verify-nin'] }]
    if (parts.has('verify')) {
      const dataDir = join(folder, 'verify-earlier')
      const before = earlier && keep(await startTabbat({ checkout: earlier, dataDir }))
      for (const [name, spec] of Object.entries(VERIFICATIONS))
        variants.push(...toPair({ name: `${name}, test`, server: tabbat, spec, limit: LIMIT }, before))
    }
    variants.push(...live)
    if (bench.hasPeers)
      for (const variant of await startExpresses(bench)) {
        keep(variant.server)
        variants.push(variant)
      }
    return await runRounds(variants, bench.options, bench.progress)
  } finally {
    for (const stop of stops) await stop()
  }
}

/** With fewer records than Tabbat, which is to its advantage. */
async function startExpresses({ folder, options }: Bench): Promise<Variant[]> {
  const count = Math.min(EXPRESS_PEOPLE, options.records)
  const people = await openPeople(folder, count)
  const spec = { ...VERIFICATIONS['verify-nin'], count }
  const variants: Variant[] = []
  for (const tuning of ['as it comes', 'wal'] as const) {
    const server = await startExpress(folder, people, count, spec.key, tuning)
    variants.push({ name: `${server.name}, ${count} records`, server, spec, limit: LIMIT })
  }
  return variants
}
