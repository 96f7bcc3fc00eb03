import { join } from 'node:path'
import { buildBundle } from '../bundle.ts'
import { median } from '../rounds.ts'
import { startTabbat } from '../servers/tabbat.ts'
import type { Bench, Start } from './part.ts'

const STARTS = 5

/** From the start of the process to the first 200 of /health/ready. The first start makes the database and the compile cache. */
export async function measureStart({ folder }: Bench): Promise<Start> {
  const dataDir = join(folder, 'start')
  const mains = { bundle: buildBundle(), checkout: undefined }
  const times = { bundle: [] as number[], checkout: [] as number[] }
  for (let start = 0; start <= STARTS; start++)
    for (const name of ['bundle', 'checkout'] as const) {
      const server = await startTabbat({ dataDir, main: mains[name] })
      await server.stop()
      if (start > 0) times[name].push(server.startMs)
    }
  return { bundleMs: median(times.bundle), checkoutMs: median(times.checkout) }
}
