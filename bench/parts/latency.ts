import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bind, cores } from '../cores.ts'
import type { Pace, Paced } from '../load/paced.ts'
import type { RequestSpec } from '../load/request-spec.ts'
import { settle } from '../registry.ts'
import { median } from '../rounds.ts'
import { LOOKUPS, startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench, Latency } from './part.ts'

export const RATE = 500
const CLIENT = join(import.meta.dirname, '../load/paced.ts')

const REQUESTS: Readonly<Record<string, RequestSpec>> = {
  'list-internet-bundles': LOOKUPS['list-internet-bundles'],
  'verify-nin, test': VERIFICATIONS['verify-nin'],
}

/** Response times below the capacity of the server. */
export async function measureLatency({ folder, options }: Bench): Promise<Latency[]> {
  // Writes of earlier parts must not delay this one.
  settle()
  const server = await startTabbat({ dataDir: join(folder, 'latency') })
  const samples = new Map<string, Paced[]>(Object.keys(REQUESTS).map((name) => [name, []]))
  try {
    for (let round = 0; round < options.rounds; round++)
      for (const [name, spec] of Object.entries(REQUESTS))
        samples
          .get(name)
          ?.push(await runClient({ port: server.port, spec, rate: RATE, seconds: options.seconds + 1 }))
  } finally {
    await server.stop()
  }
  return [...samples].map(([name, list]) => ({
    name,
    p50Ms: median(list.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(list.map(({ p99Ms }) => p99Ms)),
    maxMs: Math.max(...list.map(({ maxMs }) => maxMs)),
    refused: list.reduce((sum, { refused }) => sum + refused, 0),
  }))
}

export async function runClient(pace: Pace): Promise<Paced> {
  const [command, args] = bind(cores.generator, [process.execPath, CLIENT, JSON.stringify(pace)])
  const { stdout } = await promisify(execFile)(command, args)
  return JSON.parse(stdout) as Paced
}
