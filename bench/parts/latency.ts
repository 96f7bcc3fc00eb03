import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bind, cores } from '../cores.ts'
import type { Ask } from '../load/ask.ts'
import type { Pace, Paced } from '../load/paced.ts'
import { settle } from '../registry.ts'
import { median } from '../rounds.ts'
import { LOOKUPS, startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench, Latency } from './part.ts'

export const RATE = 500
const CLIENT = join(import.meta.dirname, '../load/paced.ts')

const ASKS: Readonly<Record<string, Ask>> = {
  'list-internet-bundles': LOOKUPS['list-internet-bundles'],
  'verify-nin, test': VERIFICATIONS['verify-nin'],
}

/** How long an answer takes when the server is not at its limit. */
export async function measureLatency({ folder, options }: Bench): Promise<Latency[]> {
  // What the parts before have written is not to be waited for here.
  settle()
  const server = await startTabbat({ dataDir: join(folder, 'latency') })
  const samples = new Map<string, Paced[]>(Object.keys(ASKS).map((name) => [name, []]))
  try {
    for (let round = 0; round < options.rounds; round++)
      for (const [name, ask] of Object.entries(ASKS))
        samples
          .get(name)
          ?.push(await runClient({ port: server.port, ask, rate: RATE, seconds: options.seconds + 1 }))
  } finally {
    await server.stop()
  }
  return [...samples].map(([name, list]) => ({
    name,
    p50Ms: median(list.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(list.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...list.map(({ maxMs }) => maxMs)),
  }))
}

async function runClient(pace: Pace): Promise<Paced> {
  const [command, args] = bind(cores.generator, [process.execPath, CLIENT, JSON.stringify(pace)])
  const { stdout } = await promisify(execFile)(command, args)
  return JSON.parse(stdout) as Paced
}
