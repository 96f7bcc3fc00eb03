import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bind, cores } from '../cores.ts'
import type { Pace, Paced } from '../load/paced.ts'
import type { RequestSpec } from '../load/request-spec.ts'
import { settle } from '../registry.ts'
import { median } from '../rounds.ts'
import { startDurableBare } from '../servers/bare.ts'
import type { Server } from '../servers/server.ts'
import { LOOKUPS, startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench, Latency } from './part.ts'

export const RATE = 500
const CLIENT = join(import.meta.dirname, '../load/paced.ts')

/** node:http that only waits for the disk: what this machine allows. */
export const CONTROL = 'control: bare node:http with fdatasync'

/** Response times below the capacity of the server, beside those of the control, in the same rounds. */
export async function measureLatency({ folder, options }: Bench): Promise<Latency[]> {
  // Writes of earlier parts must not delay this one.
  settle()
  const tabbat = await startTabbat({ dataDir: join(folder, 'latency') })
  const control = await startDurableBare(folder)
  const runs: readonly (readonly [string, Server, RequestSpec])[] = [
    ['list-internet-bundles', tabbat, LOOKUPS['list-internet-bundles']],
    ['verify-nin, test', tabbat, VERIFICATIONS['verify-nin']],
    [CONTROL, control, VERIFICATIONS['verify-nin']],
  ]
  const samples = new Map<string, Paced[]>(runs.map(([name]) => [name, []]))
  try {
    for (let round = 0; round < options.rounds; round++)
      for (const [name, { port }, spec] of runs)
        samples.get(name)?.push(await runClient({ port, spec, rate: RATE, seconds: options.seconds + 1 }))
  } finally {
    await control.stop()
    await tabbat.stop()
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
