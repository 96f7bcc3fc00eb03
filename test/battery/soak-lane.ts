import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { execute, type Postgres, startOwnPostgres } from '../postgres.ts'
import { type RunningServer, type Settings, startServer, tabbat } from '../process/tabbat.ts'
import { answerWith, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { createClient } from './client.ts'
import { createPlace, type Place } from './place.ts'
import { checkEnd, type SoakEnd } from './soak-checks.ts'
import { checkBatch, createChores, fillOldMonths, readSizes, type Sizes, sendBatch } from './soak-chores.ts'
import { type Control, startControl } from './soak-control.ts'
import { partOf } from './soak-judge.ts'
import { addFault, countCode, createSoakLoad, type SoakLoad } from './soak-load.ts'

/**
 * A process of a soak: one server on one database, with its vendors, its receiver of webhooks, its callers and its chores.
 * soak.ts starts it, and says when to measure and when to run, so that two of them share the machine at the same time.
 */
export type Engine = 'sqlite' | 'postgres'

export type Sample = Sizes & {
  readonly atMs: number
  readonly rssBytes: number
  readonly heapBytes: number
  readonly descriptors: number
  readonly loopP99Ms: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the bare server beside it. */
  readonly controlP99Ms: number
  readonly answers: number
}

export type LaneReport = {
  readonly engine: Engine
  readonly samples: readonly Sample[]
  readonly codes: Readonly<Record<string, number>>
  readonly figures: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

export type Order =
  | { readonly order: 'measure' }
  | { readonly order: 'run'; readonly rate: number; readonly ms: number }
export type Message =
  | { readonly ready: true }
  | { readonly capacity: number }
  | { readonly say: string }
  | { readonly report: LaneReport }

const SAMPLE_MS = 5000
const WARM_MS = 20_000
const CALLERS = 32
/** After the load, for pending questions and batches; then they are faults. */
const SETTLE_MS = 120_000
const CHORES = 12
const BATCH_EVERY_MS = 60_000

async function serve(engine: Engine, ms: number, folder: string): Promise<void> {
  const tell = (message: Message) => void process.send?.(message)
  const file = join(folder, `soak-${engine}.ndjson`)
  writeFileSync(file, '')
  const lane = await openLane(engine, ms, file)
  process.on('message', async (order: Order) => {
    if (order.order === 'measure') return tell({ capacity: await measure(lane) })
    const report = await run(lane, order.rate, order.ms, (say) => tell({ say: `${engine}: ${say}` }))
    process.send?.({ report: { engine, ...report } } satisfies Message, () => process.exit())
  })
  // Nobody would read the report.
  process.on('disconnect', () => process.exit(1))
  tell({ ready: true })
}

type Lane = {
  readonly place: Place
  readonly server: RunningServer
  readonly vendors: readonly [StandIn, StandIn]
  readonly receiver: Receiver
  readonly load: SoakLoad
  readonly control: Control
  /** The samples so far, one a line. */
  readonly file: string
  readonly postgres: Postgres | undefined
}

async function openLane(engine: Engine, ms: number, file: string): Promise<Lane> {
  const postgres = engine === 'postgres' ? await startOwnPostgres() : undefined
  // The log of PostgreSQL is recycled from this size on. By default it is a gigabyte, which two hours need not fill.
  if (postgres) {
    for (const name of ['max_wal_size', 'min_wal_size'])
      await execute(postgres.url, `ALTER SYSTEM SET ${name} = '256MB'`)
    await execute(postgres.url, 'SELECT pg_reload_conf()')
  }
  const [first, second] = [await openStandIn(dojah), await openStandIn(blusalt)]
  const receiver = await startReceiver()
  const place = await createPlace({
    ...first.settings,
    ...second.settings,
    ...(postgres && { TABBAT_DATABASE_URL: await postgres.createDatabase() }),
    ...LIMITS,
  })
  await fillOldMonths(place.settings)
  const endpoint = ['--name', 'soak', '--url', receiver.url, '--event', EVENTS]
  const made = await tabbat(place.settings, 'webhooks', 'create', ...endpoint)
  if (made.code !== 0) throw new Error(made.stderr)
  const hour = { SOAK_HOUR_MS: String(Math.round(ms / 24)), NODE_OPTIONS: `--import=${HOUR}` }
  const server = await startServer({ ...place.settings, ...hour })
  const load = createSoakLoad(server.url, place.keys)
  const control = await startControl()
  return { place, server, vendors: [first, second], receiver, load, control, file, postgres }
}

const HOUR = join(import.meta.dirname, 'soak-hour.ts')
const EVENTS = 'verification.completed,verification.expired,batch.completed,source.down,source.up'
/** Retention so short that rows are deleted during the run, and a search for damage that begins again at once. */
const LIMITS: Settings = {
  TABBAT_NIN_SOURCES: 'dojah,blusalt',
  TABBAT_BVN_SOURCES: 'registry',
  TABBAT_DOJAH_PRICE: '50',
  TABBAT_BLUSALT_PRICE: '40',
  TABBAT_DOJAH_DAILY_CAP: '1000000000',
  TABBAT_WEBHOOKS_PRIVATE: 'on',
  TABBAT_WEBHOOKS_LOG: '1h',
  TABBAT_REUSE: '10m',
  TABBAT_PENDING_KEEP: '2m',
  TABBAT_PENDING_RETRY: '1s',
  TABBAT_PENDING_RETRY_MAX: '10s',
  TABBAT_PENDING_LIMIT: '2m',
  TABBAT_REQUESTS_KEEP: '1h',
  TABBAT_REQUESTS_MAX: '20000',
  TABBAT_BATCH_RATE: '6000',
  TABBAT_SCRUB: '1m',
}

/** All lanes measure at the same time, so that each has its share of the machine. */
async function measure({ load }: Lane): Promise<number> {
  await load.saturate(CALLERS, WARM_MS)
  const capacity = await load.saturate(CALLERS, WARM_MS)
  load.takeTimes()
  return capacity
}

async function run(lane: Lane, rate: number, ms: number, say: (line: string) => void) {
  const { place, server, load, receiver, vendors } = lane
  const { told } = load
  const chores = createChores(place.settings, told)
  const samples: Sample[] = []
  const batches = createBatches(lane)
  const startedAt = performance.now()
  const stop = [
    flap(vendors, told),
    failSometimes(receiver, told),
    every(SAMPLE_MS, told, async () => {
      samples.push(await sample(lane, performance.now() - startedAt))
      appendFileSync(lane.file, `${JSON.stringify(samples.at(-1))}\n`)
    }),
    every(ms / CHORES, told, async () => {
      await chores.turn()
      const last = told.faults.at(-1) ?? 'no faults'
      say(`${toMegabytes(samples.at(-1)?.rssBytes)} MB, ${told.sent} sent, ${last}`)
    }),
    every(Math.min(BATCH_EVERY_MS, ms / 8), told, batches.send),
  ]
  await load.pace(rate, ms)
  for (const end of stop) await end()
  await load.settle(SETTLE_MS)
  await batches.settle()
  const late = await waitForWebhooks(receiver, told.pendingEnded)
  if (late > 0) addFault(told, `${late} pending questions ended without a webhook`)
  if ((await server.stop()) !== 0) addFault(told, 'the server did not stop properly')
  await chores.turn()
  const end = await checkEnd(place.settings, told, chores.backup)
  await closeLane(lane)
  const figures = toFigures(lane, end, { rate, batches: batches.ended(), ...chores.done })
  return { samples, codes: Object.fromEntries(told.codes), faults: told.faults, figures }
}

const toMegabytes = (bytes = 0) => Math.round(bytes / 1e6)

function toFigures({ load, receiver, vendors }: Lane, end: SoakEnd, more: Record<string, number>) {
  const { told } = load
  return {
    ...more,
    sent: told.sent,
    acknowledged: told.acknowledged.size,
    replays: told.replays,
    pending: told.pendingEnded,
    vendorCalls: vendors[0].count() + vendors[1].count(),
    webhooks: receiver.received.length,
    ...end,
  }
}

async function closeLane({ place, load, control, receiver, vendors, postgres }: Lane): Promise<void> {
  load.close()
  control.close()
  await receiver.close()
  await Promise.all(vendors.map((vendor) => vendor.close()))
  await postgres?.stop()
  const folder = place.settings.TABBAT_DATA_DIR ?? ''
  if (load.told.faults.length === 0) rmSync(folder, { recursive: true })
  else addFault(load.told, `the data folder is kept: ${folder}`)
}

/** Runs the work again and again, one at a time. A failure is counted. The result ends it, and waits for what is under way. */
function every(ms: number, told: SoakLoad['told'], work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .catch((error: Error) => countCode(told, `not done: ${error.message}`))
      .finally(() => {
        running = undefined
      })
  }, ms)
  return async () => {
    clearInterval(timer)
    await running
  }
}

/** Down, slow, wrong, out of funds, and what else a vendor does. */
const FAULTS: readonly Fault[] = [
  ...(['failing', 'slow_headers', 'wrong_person', 'no_funds'] as const),
  ...(['malformed_json', 'reset', 'throttled', 'truncated'] as const),
]
const FLAP_MS = 10_000

/** A fault of the first vendor, then twice as long none. In every eighth turn the second one fails with it. */
function flap([first, second]: Lane['vendors'], told: SoakLoad['told']): () => Promise<void> {
  let turn = 0
  return every(FLAP_MS, told, async () => {
    const isFaulty = turn % 3 === 0
    first.fail(isFaulty ? FAULTS[(turn / 3) % FAULTS.length] : undefined)
    second.fail(turn % 24 === 0 ? 'failing' : undefined)
    turn += 1
  })
}

/** One request in ten fails, and all do for half a minute in three. */
function failSometimes(receiver: Receiver, told: SoakLoad['told']): () => Promise<void> {
  let [turn, count] = [0, 0]
  receiver.answer = (request, response) =>
    answerWith(turn % 6 === 1 || count++ % 10 === 0 ? 500 : 200)(request, response)
  const stop = every(30_000, told, async () => {
    turn += 1
  })
  return async () => {
    await stop()
    receiver.answer = answerWith(200)
  }
}

function createBatches({ place, server, load }: Lane) {
  const client = createClient(2)
  const open = new Set<string>()
  let [sent, ended] = [0, 0]
  const look = async () => {
    for (const id of [...open].slice(0, 3))
      if (await checkBatch(client, server.url, place.keys.live, id, load.told)) {
        open.delete(id)
        ended += 1
      }
  }
  return {
    ended: () => ended,
    send: async () => {
      const id = await sendBatch(client, server.url, place.keys.live, sent++, load.told)
      if (id !== undefined) open.add(id)
      await look()
    },
    settle: async () => {
      for (const until = performance.now() + SETTLE_MS; open.size > 0 && performance.now() < until; ) {
        await look().catch(() => {})
        await new Promise((done) => setTimeout(done, 200))
      }
      for (const id of open) addFault(load.told, `batch ${id} never ended`)
      client.close()
    },
  }
}

/** How many of so many verifications were not told to the receiver in time. */
async function waitForWebhooks({ received }: Receiver, wanted: number): Promise<number> {
  const count = () =>
    new Set(
      received
        .map(({ body }) => JSON.parse(body) as { type: string; data: { reference: string } })
        .filter(({ type }) => type.startsWith('verification.'))
        .map(({ data }) => data.reference),
    ).size
  const until = performance.now() + SETTLE_MS
  while (count() < wanted && performance.now() < until) await new Promise((done) => setTimeout(done, 1000))
  return Math.max(0, wanted - count())
}

async function sample({ place, server, load, control }: Lane, atMs: number): Promise<Sample> {
  const url = /metrics +(\S+)/.exec(server.banner)?.[1] ?? ''
  const reply = await fetch(url)
  const text = await reply.text()
  if (reply.status !== 200) throw new Error(`the metrics are answered by ${reply.status}`)
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
  const times = load.takeTimes()
  return {
    atMs,
    rssBytes: read('process_resident_memory_bytes'),
    heapBytes: read('nodejs_heap_size_used_bytes') + read('nodejs_external_memory_bytes'),
    descriptors: read('process_open_fds'),
    loopP99Ms: read('nodejs_eventloop_lag_p99_seconds') * 1000,
    p50Ms: partOf(times, 0.5),
    p99Ms: partOf(times, 0.99),
    controlP99Ms: partOf(control.takeTimes(), 0.99),
    answers: times.length,
    ...(await readSizes(place.settings)),
  }
}

if (import.meta.main) await serve(process.argv[2] as Engine, Number(process.argv[3]), process.argv[4] ?? '.')
