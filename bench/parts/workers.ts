import { join } from 'node:path'
import { startPostgres, whyNoPostgres } from '../../test/postgres.ts'
import { cores, move } from '../cores.ts'
import { readPostgresPid } from '../postgres-registry.ts'
import { readTree } from '../processes.ts'
import { type Figure, runRounds, type Variant } from '../rounds.ts'
import { startBare } from '../servers/bare.ts'
import { LOOKUPS, startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Stop } from './live.ts'
import type { Bench } from './part.ts'

const REQUESTS = { GET: LOOKUPS['list-internet-bundles'], POST: VERIFICATIONS['verify-nin'] }
const COUNTS = [1, 2] as const
/** For each process. */
const WARM_UP_SECONDS = { bare: 2, GET: 4, POST: 8 }
const NAMES = { GET: 'list-internet-bundles', POST: 'verify-nin, test, PostgreSQL' }

/**
 * The same load on one process and on two, which may use the same cores; only the number of processes differs. Bare node:http
 * in one and in two processes is the control: what a second process costs on this machine, whatever it does. Each process
 * compiles its code for itself, so two warm up for twice as long.
 */
export async function measureWorkers(bench: Bench): Promise<Figure[]> {
  const stops: Stop[] = []
  try {
    const variants = [...(await startLookups(bench, stops)), ...(await startVerifications(bench, stops))]
    return await runRounds(variants, bench.options, bench.progress)
  } finally {
    for (const stop of stops) await stop()
  }
}

async function startLookups({ folder }: Bench, stops: Stop[]): Promise<Variant[]> {
  const variants: Variant[] = []
  for (const workers of COUNTS) {
    const dataDir = join(folder, `workers-${workers}`)
    const env = { TABBAT_WORKERS: String(workers) }
    const tabbat = await startTabbat({ dataDir, env, core: cores.workers })
    stops.unshift(tabbat.stop)
    const bare = await startBare(tabbat, folder, { workers, core: cores.workers })
    stops.unshift(bare.stop)
    variants.push(
      {
        name: toWorkersName('GET', workers),
        server: tabbat,
        spec: REQUESTS.GET,
        warmUpSeconds: WARM_UP_SECONDS.GET * workers,
      },
      ...(['GET', 'POST'] as const).map((method) => ({
        name: toBareName(method, workers),
        server: bare,
        spec: REQUESTS[method],
        warmUpSeconds: WARM_UP_SECONDS.bare * workers,
      })),
    )
  }
  return variants
}

/** Each number of workers has a database of its own, on one server. */
async function startVerifications({ folder, note }: Bench, stops: Stop[]): Promise<Variant[]> {
  const missing = whyNoPostgres()
  if (missing !== undefined) {
    note(`Verifications by several workers are left out: ${missing}`)
    return []
  }
  const postgres = await startPostgres()
  stops.unshift(postgres.stop)
  const pid = await readPostgresPid(postgres)
  move(
    cores.workers,
    readTree(pid).map((each) => each.pid),
  )
  const variants: Variant[] = []
  for (const workers of COUNTS) {
    const dataDir = join(folder, `workers-postgres-${workers}`)
    const env = { TABBAT_WORKERS: String(workers), TABBAT_DATABASE_URL: await postgres.createDatabase() }
    const server = await startTabbat({ dataDir, env, core: cores.workers })
    stops.unshift(server.stop)
    variants.push({
      name: toWorkersName('POST', workers),
      server,
      spec: REQUESTS.POST,
      beside: { name: 'PostgreSQL', pid },
      warmUpSeconds: WARM_UP_SECONDS.POST * workers,
    })
  }
  return variants
}

type Method = keyof typeof NAMES

const toWorkersName = (method: Method, workers: number) =>
  `${NAMES[method]}, ${workers} worker${workers > 1 ? 's' : ''}`

const toBareName = (method: Method, workers: number) =>
  `bare node:http, ${method}, ${workers} process${workers > 1 ? 'es' : ''}`

/** How much more processor time two workers need for a request than one, compared with the same of bare node:http. */
export function toWorkersCost(figures: readonly Figure[], method: Method): number | undefined {
  const toRatio = (toName: typeof toBareName) => {
    const [one, two] = COUNTS.map((count) => figures.find(({ name }) => name === toName(method, count)))
    return one && two && toCpu(two) / toCpu(one)
  }
  const [own, bare] = [toRatio(toWorkersName), toRatio(toBareName)]
  return own && bare && own / bare
}

const toCpu = ({ cpuMicros, besideMicros = 0 }: Figure) => cpuMicros + besideMicros
