import { load } from './load/generator.ts'
import type { RequestSpec } from './load/request-spec.ts'
import { sendOnce } from './load/request-spec.ts'
import { readCpuSeconds } from './processes.ts'
import type { Server } from './servers/server.ts'
import { CONNECTIONS } from './servers/tabbat.ts'

export type Variant = {
  readonly name: string
  readonly server: Server
  readonly spec: RequestSpec
  /** The variant with which this one is compared. */
  readonly limit?: string
  /** The same of the checkout of --against. */
  readonly against?: string | undefined
  readonly isEarlier?: boolean
  /** Warms up for so long, instead of until it gets no faster. */
  readonly warmUpSeconds?: number
  /** Another process whose processor time is reported separately, such as the database. */
  readonly beside?: { readonly name: string; readonly pid: number } | undefined
}

export type Figure = {
  readonly name: string
  readonly perSecond: number
  readonly cpuMicros: number
  readonly besideMicros?: number
  readonly bad: number
  /** Requests a second as a share of the limit's. */
  readonly share?: number
  /** Requests a second as a multiple of those of the checkout of --against. */
  readonly timesAgainst?: number
  /** A figure of the checkout of --against. */
  readonly isEarlier?: boolean
}

type Sample = Omit<Figure, 'name' | 'share' | 'timesAgainst' | 'isEarlier'>

type Rounds = { readonly rounds: number; readonly seconds: number }

const MAX_WARM_UP_SECONDS = 6
/** A second that is no faster than the best before it by this much ends the warming up. */
const STILL_FASTER = 1.03

/** The same asked of the server of an earlier commit, in the same rounds. */
export function toPair(variant: Variant, earlier: Server | undefined): Variant[] {
  if (!earlier) return [variant]
  const name = `${variant.name}, ${earlier.name}`
  return [
    { ...variant, against: name },
    { ...variant, name, server: earlier, isEarlier: true },
  ]
}

/** All variants in turn, forwards and backwards, so that a slow minute of the machine hits them all. */
export async function runRounds(
  variants: readonly Variant[],
  { rounds, seconds }: Rounds,
  progress: (line: string) => void,
): Promise<Figure[]> {
  const samples = new Map<Variant, Sample[]>(variants.map((variant) => [variant, []]))
  for (const variant of variants) {
    await requireAnswer(variant)
    await warmUp(variant)
  }
  for (let round = 1; round <= rounds; round++) {
    for (const variant of round % 2 === 1 ? variants : variants.toReversed())
      samples.get(variant)?.push(await runOnce(variant, seconds))
    progress(`  round ${round} of ${rounds}`)
  }
  return toFigures(samples)
}

/** One second at a time until it gets no faster: small servers are compiled sooner than large ones. */
async function warmUp(variant: Variant): Promise<void> {
  if (variant.warmUpSeconds !== undefined) return void (await runOnce(variant, variant.warmUpSeconds))
  let best = 0
  for (let second = 0; second < MAX_WARM_UP_SECONDS; second++) {
    const { perSecond } = await runOnce(variant, 1)
    if (second > 1 && perSecond < best * STILL_FASTER) return
    best = Math.max(best, perSecond)
  }
}

async function requireAnswer({ name, server, spec }: Variant): Promise<void> {
  const response = await sendOnce(server.port, spec)
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${name} answers ${response.status}: ${body.slice(0, 300)}`)
}

async function runOnce({ server, spec, beside }: Variant, seconds: number): Promise<Sample> {
  const read = () => ({ own: readCpuSeconds(server.pid), beside: beside ? readCpuSeconds(beside.pid) : 0 })
  const before = read()
  const connections = spec.connections ?? CONNECTIONS[spec.method]
  const { requests, perSecond, bad } = await load({ port: server.port, spec, connections, seconds })
  const after = read()
  const perRequest = (used: number) => (used * 1e6) / Math.max(requests, 1)
  return {
    perSecond,
    bad,
    cpuMicros: perRequest(after.own - before.own),
    ...(beside ? { besideMicros: perRequest(after.beside - before.beside) } : {}),
  }
}

function toFigures(samples: ReadonlyMap<Variant, readonly Sample[]>): Figure[] {
  const speeds = new Map(
    [...samples].map(([{ name }, list]) => [name, median(list.map(({ perSecond }) => perSecond))]),
  )
  return [...samples].map(([{ name, limit, against, isEarlier, beside }, list]) => {
    const perSecond = speeds.get(name) ?? 0
    const most = limit === undefined ? undefined : speeds.get(limit)
    const earlier = against === undefined ? undefined : speeds.get(against)
    return {
      name,
      perSecond,
      cpuMicros: median(list.map(({ cpuMicros }) => cpuMicros)),
      bad: list.reduce((total, { bad }) => total + bad, 0),
      ...(beside ? { besideMicros: median(list.map(({ besideMicros = 0 }) => besideMicros)) } : {}),
      ...(most ? { share: perSecond / most } : {}),
      ...(earlier ? { timesAgainst: perSecond / earlier } : {}),
      ...(isEarlier ? { isEarlier } : {}),
    }
  })
}

export function median(list: readonly number[]): number {
  const sorted = list.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}
