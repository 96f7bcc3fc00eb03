import { join } from 'node:path'
import { median } from '../rounds.ts'
import { startTabbat } from '../servers/tabbat.ts'
import type { Bench } from './part.ts'

const STARTS = 5

/** From the start of the process to the first 200 of /health/ready. The first start makes the database and the compile cache. */
export async function measureStart({ folder }: Bench): Promise<number> {
  const times: number[] = []
  for (let start = 0; start <= STARTS; start++) {
    const server = await startTabbat({ dataDir: join(folder, 'start') })
    await server.stop()
    if (start > 0) times.push(server.startMs)
  }
  return median(times)
}
