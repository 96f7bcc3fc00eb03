import { rmSync } from 'node:fs'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { type RunningServer, startServer } from '../process/tabbat.ts'
import { type Client, createClient } from './client.ts'
import { createPlace } from './place.ts'

/** How the first source fails; `gone`: nothing listens on its port. */
export type Trial = Fault | 'gone'

export type FaultReport = {
  readonly trial: Trial
  /** Requests sent while the first source failed and the second answered. */
  readonly together: { readonly asked: number; readonly verified: number; readonly slowestMs: number }
  /** Additional time per request once the breaker was open. */
  readonly open: { readonly p50: number; readonly p99: number; readonly most: number }
  readonly alone: { readonly statuses: readonly number[]; readonly slowestMs: number }
  readonly grownMb: number
  readonly faults: readonly string[]
}

const DEADLINE_MS = 15_000
/** Time allowed beyond waiting for sources: the audit log, and two cores shared by all processes. */
const SLACK_MS = 1000
const MAX_ADDED_MS = 300
const LEAST_VERIFIED = 0.99
const MAX_GROWN_MB = 30
const WARM_MS = 6000

export type Sample = { readonly status: number; readonly ms: number }

/** One server with two sources, and one with the failing source alone. */
export async function playFault(trial: Trial, openForMs: number): Promise<FaultReport> {
  const together = await playTogether(trial, openForMs)
  const alone = await playAlone(trial)
  const report = { trial, ...together, alone }
  return { ...report, faults: listFaults(report) }
}

function listFaults({ trial, together, open, alone, grownMb }: Omit<FaultReport, 'faults'>): string[] {
  const faults: string[] = []
  if (together.verified < together.asked * LEAST_VERIFIED)
    faults.push(`only ${together.verified} of ${together.asked} were answered 200`)
  if (together.slowestMs > DEADLINE_MS + SLACK_MS) faults.push(`one took ${together.slowestMs.toFixed(0)} ms`)
  if (open.p99 > MAX_ADDED_MS) faults.push(`${open.p99.toFixed(0)} ms were added with the breaker open`)
  if (alone.slowestMs > DEADLINE_MS + SLACK_MS)
    faults.push(`alone, one took ${alone.slowestMs.toFixed(0)} ms`)
  if (!alone.statuses.every((status) => [502, 503, 504].includes(status)))
    faults.push(`alone, callers got ${alone.statuses.join(', ')}`)
  if (grownMb > MAX_GROWN_MB) faults.push(`${trial} made the server grow by ${grownMb.toFixed(0)} MB`)
  return faults
}

async function playTogether(trial: Trial, openForMs: number) {
  return withServer('dojah,blusalt', async ({ ask, first, server, client }) => {
    // A new server's memory grows until it is warm, whatever its sources do.
    const before = await lowestMemoryMb(client, server, () => askFor(ask, 8, WARM_MS))
    const usual = await askMany(ask, 4, 200)
    const median = toPart(usual, 0.5)
    await strike(first, trial)
    const breaking: Sample[] = []
    // Each round has more failures than the breaker needs to open.
    for (let round = 0; round < 20 && !(await isOpen(client, server)); round++)
      breaking.push(...(await askMany(ask, 24, 24)))
    let open: Sample[] = []
    const after = await lowestMemoryMb(client, server, async () => {
      open = await askFor(ask, 4, openForMs)
    })
    const all = [...breaking, ...open]
    return {
      together: {
        asked: all.length,
        verified: all.filter(({ status }) => status === 200).length,
        slowestMs: toPart(all, 1),
      },
      open: {
        p50: toPart(open, 0.5) - median,
        p99: toPart(open, 0.99) - median,
        most: toPart(open, 1) - median,
      },
      grownMb: after - before,
    }
  })
}

async function playAlone(trial: Trial) {
  return withServer('dojah', async ({ ask, first }) => {
    await strike(first, trial)
    const samples = await askMany(ask, 24, 48)
    return {
      statuses: [...new Set(samples.map(({ status }) => status))].toSorted(),
      slowestMs: toPart(samples, 1),
    }
  })
}

type TestServer = {
  readonly ask: () => Promise<Sample>
  readonly first: StandIn
  readonly second: StandIn
  readonly server: RunningServer
  readonly client: Client
}

export async function withServer<T>(
  order: string,
  work: (at: TestServer) => Promise<T>,
  connections = 64,
): Promise<T> {
  const [first, second] = [await openStandIn(dojah), await openStandIn(blusalt)]
  const names = { TABBAT_NIN_SOURCES: order, TABBAT_BVN_SOURCES: order }
  const { settings, keys } = await createPlace({ ...names, ...first.settings, ...second.settings })
  const server = await startServer(settings)
  const client = createClient(connections)
  let next = 10_000_000_000
  const ask = async (): Promise<Sample> => {
    const nin = String(next++)
    const startedAt = performance.now()
    const { status } = await client.post(
      `${server.url}/api/v2/kyc/verify-nin`,
      { nin, phone: `0${toPhoneCoreOf(nin)}` },
      { authorization: `Bearer ${keys.live}` },
    )
    return { status, ms: performance.now() - startedAt }
  }
  try {
    return await work({ ask, first, second, server, client })
  } finally {
    client.close()
    await server.stop()
    await Promise.all([first.close().catch(() => {}), second.close()])
    rmSync(settings.TABBAT_DATA_DIR ?? '', { recursive: true })
  }
}

const strike = async (first: StandIn, trial: Trial) => (trial === 'gone' ? first.close() : first.fail(trial))

async function isOpen(client: Client, { url }: RunningServer): Promise<boolean> {
  const { body } = await client.get(`${url}/health/ready`)
  return (JSON.parse(body) as { sources: { dojah?: string } }).sources.dojah === 'degraded'
}

async function askMany(ask: TestServer['ask'], ways: number, count: number): Promise<Sample[]> {
  let left = count
  return askWhile(ask, ways, () => left-- > 0)
}

async function askFor(ask: TestServer['ask'], ways: number, ms: number): Promise<Sample[]> {
  const end = performance.now() + ms
  return askWhile(ask, ways, () => performance.now() < end)
}

async function askWhile(ask: TestServer['ask'], ways: number, goesOn: () => boolean): Promise<Sample[]> {
  const samples: Sample[] = []
  const way = async () => {
    while (goesOn()) samples.push(await ask())
  }
  await Promise.all(Array.from({ length: ways }, way))
  return samples
}

export function toPart(samples: readonly Sample[], part: number): number {
  const sorted = samples.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

/**
 * The lowest heap size during the load: right after a garbage collection. Without the database caches, which grow with
 * the audit log and not with faults.
 */
async function lowestMemoryMb(
  client: Client,
  { banner }: RunningServer,
  work: () => Promise<unknown>,
): Promise<number> {
  const url = /metrics +(\S+)/.exec(banner)?.[1] ?? ''
  let lowest = Number.POSITIVE_INFINITY
  const look = async () => {
    const { body } = await client.get(url)
    const read = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(body)?.[1])
    const held = read('nodejs_heap_size_used_bytes') + read('nodejs_external_memory_bytes')
    lowest = Math.min(lowest, held / 1e6)
  }
  const looking = setInterval(() => void look().catch(() => {}), 250)
  try {
    await work()
    await look()
  } finally {
    clearInterval(looking)
  }
  return lowest
}
