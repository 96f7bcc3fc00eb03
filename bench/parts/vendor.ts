import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openCountingProxy } from '../../test/database/counting-proxy.ts'
import { execute } from '../../test/postgres.ts'
import { type Checkout, CURRENT, ROOT } from '../checkout.ts'
import { bind, cores } from '../cores.ts'
import type { Closed, ClosedLoad } from '../load/closed.ts'
import { openPostgresRegistry } from '../postgres-registry.ts'
import { readCpuSeconds } from '../processes.ts'
import { fillRegistry, openPeople, readKey } from '../registry.ts'
import { median } from '../rounds.ts'
import { findFreePort, launch, type Server } from '../servers/server.ts'
import { startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Stop } from './live.ts'
import type { Bench } from './part.ts'

/** Rates and times of a verification through a vendor, beside those of the control and of own records in the same rounds. */
export type VendorFigure = {
  readonly name: string
  readonly perSecond: number
  readonly cpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly bad: number
}
export type VendorResults = {
  readonly figures: readonly VendorFigure[]
  /** Per verification, one caller: round trips to PostgreSQL, and waits of SQLite for the disk. */
  readonly counts: readonly { readonly name: string; readonly each: number }[]
}

const DISTANCES_MS = [0.5, 5]
export const CALLERS = [1, 16, 64, 128]
export const SLOW_VENDOR_MS = 200
export const SLOW_CALLERS = [32, 256]
const COMMIT_MICROS = 1000
const PEOPLE = 20_000
const COUNTED = 200
const WARM_UP_S = 6

export const NAMES = {
  control: 'control: bare proxy',
  sqlite: 'vendor, SQLite',
  distant: (ms: number, callers: number) => `vendor, PostgreSQL ${ms} ms away, ${callers} callers`,
  own: (ms: number, callers: number) => `own records, PostgreSQL ${ms} ms away, ${callers} callers`,
  slow: (callers: number) => `vendor of ${SLOW_VENDOR_MS} ms, SQLite, ${callers} callers`,
  slowControl: (callers: number) => `control: vendor of ${SLOW_VENDOR_MS} ms, ${callers} callers`,
  nodes: (count: number) =>
    `vendor, PostgreSQL 0.5 ms away, 128 callers, ${count} node${count === 1 ? '' : 's'}`,
  statements: (isIdempotent: boolean) => `statements to PostgreSQL${isIdempotent ? ', Idempotency-Key' : ''}`,
  syncs: (isIdempotent: boolean) => `fsync on SQLite${isIdempotent ? ', Idempotency-Key' : ''}`,
}

type Variant = {
  readonly name: string
  readonly servers: readonly Server[]
  readonly key: string
  readonly callers: number
  readonly isIdempotent?: boolean
}

/** What most operators do: they ask a vendor. */
export async function measureVendor(bench: Bench): Promise<VendorResults> {
  const stops: Stop[] = []
  try {
    const fast = await startVendor(bench, '0', stops)
    const slow = await startVendor(bench, '0', stops)
    const sqlite = await measureSqlite(bench, fast, slow, stops)
    const postgres = await measurePostgres(bench, fast, stops)
    return {
      figures: [...sqlite.figures, ...postgres.figures],
      counts: [...sqlite.counts, ...postgres.counts],
    }
  } finally {
    for (const stop of stops) await stop()
  }
}

export async function startVendor(
  { folder }: Pick<Bench, 'folder'>,
  ms: string,
  stops: Stop[],
): Promise<Server> {
  return startProgram('vendor', folder, ['vendor', ms], stops)
}

/** The vendor shares the core of the load generator, the control has that of the server. */
async function startProgram(
  name: string,
  folder: string,
  [role = '', given = '']: readonly string[],
  stops: Stop[],
) {
  const port = await findFreePort()
  const command = [process.execPath, join(ROOT, 'bench/vendor.ts'), role, String(port), given]
  const core = role === 'vendor' ? cores.generator : cores.server
  const server = await launch({ name, port, command, readyPath: 'tcp', cwd: folder, core })
  stops.unshift(server.stop)
  return server
}

/** With a price and a cap that is never reached: money is counted, as in life. */
export const toVendorEnv = (vendor: Server, env: Readonly<Record<string, string>> = {}) => ({
  TABBAT_NIN_SOURCES: 'dojah',
  TABBAT_DOJAH_URL: `http://127.0.0.1:${vendor.port}`,
  TABBAT_DOJAH_APP_ID: 'bench',
  TABBAT_DOJAH_SECRET: 'bench-secret',
  TABBAT_DOJAH_PRICE: '50',
  TABBAT_DOJAH_DAILY_CAP: '999999999',
  ...env,
})

async function measureSqlite(
  bench: Bench,
  fast: Server,
  slow: Server,
  stops: Stop[],
): Promise<VendorResults> {
  const start = async (checkout: Checkout, name: string, vendor: Server) => {
    const dataDir = join(bench.folder, `vendor-${name}`)
    await fillRegistry(checkout, dataDir, await openPeople(bench.folder, 1))
    const server = await startTabbat({ checkout, dataDir, env: toVendorEnv(vendor) })
    stops.unshift(server.stop)
    return { servers: [server], key: readKey(dataDir) }
  }
  const quick = await start(CURRENT, 'fast', fast)
  const control = {
    servers: [await startProgram('control', bench.folder, ['proxy', String(fast.port)], stops)],
    key: '',
  }
  const counts = await countSyncs(bench, quick)
  const quickFigures = await runRounds(bench, [
    { name: NAMES.sqlite, callers: 64, ...quick },
    { name: `${NAMES.sqlite}, Idempotency-Key`, callers: 64, isIdempotent: true, ...quick },
    { name: NAMES.control, callers: 64, ...control },
  ])
  const slowly = await start(CURRENT, 'slow', slow)
  const slowControl = {
    servers: [await startProgram('control', bench.folder, ['proxy', String(slow.port)], stops)],
    key: '',
  }
  // With an answer at once until the code is compiled: at the rate of a slow vendor that would take minutes.
  for (const warmed of [slowly, slowControl])
    await runClient(toLoad({ name: '', callers: 64, ...warmed }, { seconds: WARM_UP_S }))
  await fetch(`http://127.0.0.1:${slow.port}/delay?ms=${SLOW_VENDOR_MS}`)
  const slowFigures = await runRounds(
    bench,
    SLOW_CALLERS.flatMap((callers) => [
      { name: NAMES.slow(callers), callers, ...slowly },
      { name: NAMES.slowControl(callers), callers, ...slowControl },
    ]),
  )
  return { figures: [...quickFigures, ...slowFigures], counts }
}

async function measurePostgres(bench: Bench, fast: Server, stops: Stop[]): Promise<VendorResults> {
  const registry = await openPostgresRegistry(CURRENT, bench.folder, PEOPLE, bench.progress)
  if (typeof registry === 'string') {
    bench.note(`A vendor with PostgreSQL is left out: ${registry}`)
    return { figures: [], counts: [] }
  }
  stops.unshift(registry.stop)
  const { url, key, dataDir } = registry
  const start = async (name: string, databaseUrl: string, hasVendor: boolean) => {
    const database = { TABBAT_DATABASE_URL: databaseUrl }
    const own = join(bench.folder, `vendor-${name}`)
    execFileSync('cp', ['-a', dataDir, own])
    const server = await startTabbat({
      dataDir: own,
      env: hasVendor ? toVendorEnv(fast, database) : database,
    })
    stops.unshift(server.stop)
    return server
  }
  const counter = await openCountingProxy(url)
  stops.unshift(counter.close)
  const counted = await start('counted', counter.url, true)
  const counts = []
  for (const isIdempotent of [false, true]) {
    await runClient(toLoad({ name: '', servers: [counted], key, callers: 1, isIdempotent }, { requests: 50 }))
    const before = counter.count().all
    await runClient(
      toLoad({ name: '', servers: [counted], key, callers: 1, isIdempotent }, { requests: COUNTED }),
    )
    counts.push({
      name: NAMES.statements(isIdempotent),
      each: (counter.count().all - before) / COUNTED,
    })
  }
  await counted.stop()
  await execute(
    url,
    `ALTER SYSTEM SET commit_delay = ${COMMIT_MICROS}`,
    'ALTER SYSTEM SET commit_siblings = 0',
    'SELECT pg_reload_conf()',
  )
  const figures: VendorFigure[] = []
  for (const ms of DISTANCES_MS) {
    const distant = await startDistance(bench.folder, url, ms, stops)
    const own = await start(`own-${ms}`, distant, false)
    const asking = await start(`asking-${ms}`, distant, true)
    const variants = CALLERS.flatMap((callers) => [
      { name: NAMES.own(ms, callers), servers: [own], key, callers },
      { name: NAMES.distant(ms, callers), servers: [asking], key, callers },
    ])
    figures.push(...(await runRounds(bench, variants)))
    if (ms === 0.5) {
      await own.stop()
      const others = [await start('node-2', distant, true), await start('node-3', distant, true)]
      figures.push(
        ...(await runRounds(bench, [
          { name: NAMES.nodes(1), servers: [asking], key, callers: 128 },
          { name: NAMES.nodes(3), servers: [asking, ...others], key, callers: 128 },
        ])),
      )
      for (const node of others) await node.stop()
    }
  }
  return { figures, counts }
}

async function startDistance(folder: string, url: string, ms: number, stops: Stop[]): Promise<string> {
  const port = await findFreePort()
  const command = [
    process.execPath,
    join(ROOT, 'bench/slow-proxy.ts'),
    String(port),
    new URL(url).port,
    String(ms),
  ]
  const proxy = await launch({
    name: 'slow proxy',
    port,
    command,
    readyPath: 'tcp',
    cwd: folder,
    core: cores.generator,
  })
  stops.unshift(proxy.stop)
  return Object.assign(new URL(url), { port: String(port) }).href
}

const toLoad = (
  { servers, key, callers, isIdempotent = false }: Variant,
  end: Pick<ClosedLoad, 'seconds' | 'requests'>,
): ClosedLoad => ({
  ports: servers.map(({ port }) => port),
  spec: { ...VERIFICATIONS['verify-nin'], key, isIdempotent, count: PEOPLE },
  callers,
  ...end,
})

async function runClient(load: ClosedLoad): Promise<Closed> {
  const [command, args] = bind(cores.generator, [
    process.execPath,
    join(ROOT, 'bench/load/closed.ts'),
    JSON.stringify(load),
  ])
  const { stdout } = await promisify(execFile)(command, args)
  return JSON.parse(stdout) as Closed
}

/** All variants in turn, there and back, after a warm-up. Medians count. */
async function runRounds(bench: Bench, variants: readonly Variant[]): Promise<VendorFigure[]> {
  const { rounds, seconds } = bench.options
  const samples = new Map<Variant, Omit<VendorFigure, 'name'>[]>(variants.map((each) => [each, []]))
  for (const variant of variants) await runClient(toLoad(variant, { seconds: 1 }))
  for (let round = 1; round <= rounds; round++) {
    for (const variant of round % 2 === 1 ? variants : variants.toReversed())
      samples.get(variant)?.push(await runOnce(variant, seconds))
    bench.progress(`  round ${round} of ${rounds}`)
  }
  return [...samples].map(([{ name }, list]) => {
    const read = (what: keyof Omit<VendorFigure, 'name'>) => median(list.map((each) => each[what]))
    return {
      name,
      perSecond: read('perSecond'),
      cpuMicros: read('cpuMicros'),
      p50Ms: read('p50Ms'),
      p99Ms: read('p99Ms'),
      bad: list.reduce((sum, { bad }) => sum + bad, 0),
    }
  })
}

async function runOnce(variant: Variant, seconds: number): Promise<Omit<VendorFigure, 'name'>> {
  const readCpu = () => variant.servers.reduce((sum, { pid }) => sum + readCpuSeconds(pid), 0)
  const before = readCpu()
  const { requests, perSecond, p50Ms, p99Ms, bad } = await runClient(toLoad(variant, { seconds }))
  return { perSecond, p50Ms, p99Ms, bad, cpuMicros: ((readCpu() - before) * 1e6) / Math.max(requests, 1) }
}

/** By strace, which not every machine has: counted, because the time of a disk says nothing about the program. */
async function countSyncs(
  { note }: Bench,
  { servers, key }: Pick<Variant, 'servers' | 'key'>,
): Promise<VendorResults['counts']> {
  try {
    execFileSync('strace', ['-V'], { stdio: 'ignore' })
  } catch {
    note('fsync is not counted: there is no strace.')
    return []
  }
  const counts = []
  for (const isIdempotent of [false, true]) {
    const variant = { name: '', servers, key, callers: 1, isIdempotent }
    await runClient(toLoad(variant, { requests: 50 }))
    const pid = String(servers[0]?.pid)
    const tracer = spawn('strace', ['-f', '-qq', '-e', 'trace=fsync,fdatasync', '-p', pid], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const traced = text(tracer.stderr)
    await wait(500)
    await runClient(toLoad(variant, { requests: COUNTED }))
    tracer.kill('SIGINT')
    await once(tracer, 'exit')
    const calls = (await traced).split('\n').filter((line) => /f(data)?sync\(/.test(line)).length
    counts.push({ name: NAMES.syncs(isIdempotent), each: calls / COUNTED })
  }
  return counts
}
