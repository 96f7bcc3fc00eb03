import { join } from 'node:path'
import { cores } from '../cores.ts'
import { readTree } from '../processes.ts'
import { type Figure, runRounds, type Variant } from '../rounds.ts'
import type { Server } from '../servers/server.ts'
import { LOOKUPS, startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench } from './part.ts'

const REQUESTS = [LOOKUPS['list-internet-bundles'], VERIFICATIONS['verify-nin']]

/** The same load on one process and on two. Both may use the same cores; only the number of processes differs. */
export async function measureWorkers(bench: Bench): Promise<Figure[] | undefined> {
  const servers: { readonly workers: number; readonly server: Server }[] = []
  for (const workers of [1, 2]) {
    const env = { TABBAT_WORKERS: String(workers) }
    const dataDir = join(bench.folder, `workers-${workers}`)
    servers.push({ workers, server: await startTabbat({ dataDir, env, core: cores.workers }) })
  }
  try {
    if (!servers.some(({ server }) => readTree(server.pid).length > 1)) {
      bench.note(
        'Workers are left out: this Tabbat does not know TABBAT_WORKERS, all servers are one process.',
      )
      return undefined
    }
    const variants: Variant[] = REQUESTS.flatMap((spec) =>
      servers.map(({ workers, server }) => ({ name: toName(spec.method, workers), server, spec })),
    )
    return await runRounds(variants, bench.options, bench.progress)
  } finally {
    await Promise.all(servers.map(({ server }) => server.stop()))
  }
}

export const toName = (method: 'GET' | 'POST', workers: number) =>
  `${method === 'GET' ? 'list-internet-bundles' : 'verify-nin, test'}, ${workers} worker${workers > 1 ? 's' : ''}`
