import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bind, cores } from '../cores.ts'
import { load } from '../load/generator.ts'
import type { Pace, Paced } from '../load/paced.ts'
import type { RequestSpec } from '../load/request-spec.ts'
import { settle } from '../registry.ts'
import { median } from '../rounds.ts'
import { startDurableBare } from '../servers/bare.ts'
import type { Server } from '../servers/server.ts'
import { CONNECTIONS, LOOKUPS, startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench, Latency } from './part.ts'

export const RATE = 500
const CLIENT = join(import.meta.dirname, '../load/paced.ts')

/** node:http that only waits for the disk: what this machine allows. */
export const CONTROL = 'control: bare node:http with fdatasync'

/** Seconds of full load before the first round: a server that runs for days is compiled. */
const WARM_UP_SECONDS = 6

/** Response times below the capacity of the server, beside those of the control and of an earlier commit, in the same rounds. */
export async function measureLatency({ folder, options, earlier }: Bench): Promise<Latency[]> {
  // Writes of earlier parts must not delay this one.
  settle()
  const tabbat = await startTabbat({ dataDir: join(folder, 'latency') })
  const control = await startDurableBare(folder)
  const before =
    earlier && (await startTabbat({ checkout: earlier, dataDir: join(folder, 'latency-earlier') }))
  const verify = VERIFICATIONS['verify-nin']
  const runs: readonly (readonly [string, Server, RequestSpec])[] = [
    ['list-internet-bundles', tabbat, LOOKUPS['list-internet-bundles']],
    ['verify-nin, test', tabbat, verify],
    [CONTROL, control, verify],
    ...(before ? [[`verify-nin, test, ${before.name}`, before, verify] as const] : []),
  ]
  const samples = new Map<string, Paced[]>(runs.map(([name]) => [name, []]))
  try {
    for (const [, { port }, spec] of runs)
      await load({ port, spec, connections: CONNECTIONS[spec.method], seconds: WARM_UP_SECONDS })
    for (let round = 0; round < options.rounds; round++)
      for (const [name, { port }, spec] of runs)
        samples.get(name)?.push(await runClient({ port, spec, rate: RATE, seconds: options.seconds + 1 }))
  } finally {
    for (const server of [control, tabbat, ...(before ? [before] : [])]) await server.stop()
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
