import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createBook } from './book.ts'
import { openCallers } from './callers.ts'
import { budgetOf, countBilled, findFaults } from './checks.ts'
import { type Cluster, openCluster, type Settings } from './cluster.ts'
import { disk } from './disk.ts'
import { type Disturbance, disturb, drawDisturbances } from './disturbances.ts'
import { type Restored, toFacts } from './facts.ts'
import { network } from './network.ts'
import { openOperators } from './operators.ts'
import { postgres } from './postgres/server.ts'
import { noteUncaught, uncaught } from './product.ts'
import { createRandom } from './random.ts'
import { openReceiver } from './receiver.ts'
import { CALLERS, SETTINGS, SQLITE_FILE, type Template } from './template.ts'
import { openVendors } from './vendors.ts'
import { beginWorld, type World, world } from './world.ts'

export type RunReport = {
  readonly seed: number
  readonly faults: readonly string[]
  readonly trace: readonly string[]
  readonly figures: Readonly<Record<string, number>>
  readonly disturbances: readonly Disturbance[]
}

/** How long the callers may need to get all their answers after the last disturbance. */
const CALM_MS = 300_000
const ASK_MS = 60_000
/** Within this time a server that died is up again, if the database is there. */
const RESTART_MS = 10_000

/** One run: all that happens in it follows from the seed. */
export async function runSeed(seed: number, template: Template, root: string): Promise<RunReport> {
  const current = beginWorld(seed)
  disk.begin()
  network.begin()
  uncaught.length = 0
  current.onError = noteUncaught
  const { random } = current
  const disturbances = drawDisturbances(random, template.engine)
  const places = Array.from({ length: 1 + random.below(3) }, (_each, index) => index + 1)
  const dataDir = join(root, 'data')
  await template.copy(dataDir)
  const settings: Settings = { ...SETTINGS, ...drawSettings(current), ...drawReuse(seed) }
  current.note(`${places.length} processes; ${disturbances.join(', ')}`)
  const [vendors, receiver, book] = [openVendors(), openReceiver(template.secret), createBook()]
  const cluster = openCluster(
    (place) => ({ ...settings, ...template.toSettings(dataDir, place) }),
    join(root, 'log'),
  )
  const keys = new Map([...template.keys].map(([name, { text }]) => [name, text]))
  const callers = openCallers({
    cluster,
    book,
    keys,
    hasRegistry: settings.TABBAT_NOT_FOUND === 'next',
    hasPaidCallsLeft: (number) => countBilled(vendors, number) < budgetOf({ settings }),
  })
  const ofCommands = { ...settings, ...template.toSettings(dataDir, 1) }
  const operators = openOperators({ cluster, book, template, keys, settings: ofCommands, backupDir: root })
  const scene = {
    engine: template.engine,
    cluster,
    vendors,
    operators,
    places,
    cutPower: () => cutPower(cluster, places, dataDir),
  }
  let isOver = false
  let isEnding = false
  let restored: readonly Restored[] = []
  let metrics: readonly string[] = []
  const faults: string[] = []
  await current
    .run(
      (async () => {
        for (const place of places) await cluster.start(place)
        const keeping = places.map((place) => keepRunning(cluster, place, () => isEnding))
        const disturbing = disturbances.map((kind) => disturb(kind, scene, () => isOver))
        const count = random.chance(0.25) ? 4 + random.below(14) : 2 + random.below(5)
        await Promise.all(
          CALLERS.slice(0, 1 + random.below(CALLERS.length)).map((caller) => callers.play(caller, count)),
        )
        isOver = true
        await Promise.all(disturbing)
        disk.begin()
        postgres.calm()
        settleClock(cluster)
        vendors.calm()
        receiver.calm()
        current.note('calm')
        await callers.finish({
          asksUntilMs: current.elapsedMs + ASK_MS,
          untilMs: current.elapsedMs + CALM_MS,
        })
        // Callers that wait for nothing more end before a server is back that died last.
        const untilMs = current.elapsedMs + RESTART_MS
        while (cluster.servers().length === 0 && current.elapsedMs < untilMs) await current.pause(100)
        if (cluster.servers().length === 0) faults.push('no server runs, although all is calm')
        metrics = await cluster.readMetrics()
        isEnding = true
        await Promise.all(keeping)
        await cluster.stop()
        restored = await operators.restoreAll()
      })(),
    )
    .catch((error: Error) => void faults.push(`${error.message}`))
  if (template.engine === 'postgres')
    current.note(`${postgres.statements} statements of PostgreSQL (${postgres.fingerprint})`)
  const facts = toFacts(await template.read(dataDir), {
    book,
    vendors,
    receiver,
    cluster,
    template,
    disturbances,
    settings,
    restored,
    metrics,
  })
  faults.push(...uncaught.map((text) => `not caught: ${text}`), ...findFaults(facts))
  for (const folder of ['data', 'log', 'lost']) rmSync(join(root, folder), { recursive: true, force: true })
  const figures = {
    'virtual seconds': Math.round(current.elapsedMs / 1000),
    events: current.eventCount,
    requests: book.attempts.length,
    'broken connections': book.resets,
    'vendor calls': vendors.ledger.length,
    'pending questions': book.pending.size,
    'batch rows': book.batches.reduce((sum, { wishes }) => sum + wishes.length, 0),
    'webhook requests': receiver.deliveries.length,
    'audit rows': facts.audit.length,
    'restored backups': restored.length,
    deaths: current.deaths,
    statements: template.engine === 'postgres' ? postgres.statements : 0,
  }
  return { seed, faults, trace: current.trace, figures, disturbances }
}

/** A clock that was set back is right again: otherwise what is due then would be waited for. */
function settleClock(cluster: Cluster): void {
  world().clockMs = world().maxClockMs
  postgres.clockMs = world().clockMs
  for (const { process } of cluster.servers()) process.clockMs = world().clockMs
}

/** With own records, whoever is not among them is asked for at the vendors. */
const OWN_RECORDS: Settings = {
  TABBAT_NIN_SOURCES: 'registry,dojah,blusalt',
  TABBAT_NOT_FOUND: 'next',
  TABBAT_PAID_CALLS: '3',
}

function drawSettings({ random }: World): Settings {
  return {
    ...(random.chance(0.3) && { TABBAT_DOJAH_DAILY_CAP: String(50 * (2 + random.below(20))) }),
    ...(random.chance(0.2) && { TABBAT_PAID_CALLS: '4' }),
    ...(random.chance(0.4) && OWN_RECORDS),
  }
}

/** From a sequence of its own: the other decisions of a seed stay as they are. */
const drawReuse = (seed: number): Settings =>
  createRandom(seed, 'reuse option').chance(0.25) ? { TABBAT_REUSE: '1h' } : {}

/** A process that died is started again after a while, as its supervisor does. */
async function keepRunning(cluster: Cluster, place: number, isEnding: () => boolean): Promise<void> {
  const { random } = world()
  while (!isEnding()) {
    await world().pause(random.between(20, 3000))
    if (!cluster.processAt(place)) await cluster.start(place)
  }
}

/** All processes die at once, and the disk keeps what it has promised to keep. */
function cutPower(cluster: Cluster, places: readonly number[], dataDir: string): void {
  const fresh = `${dataDir}-after`
  mkdirSync(fresh, { mode: 0o700 })
  disk.copyAfterPowerCut(join(dataDir, SQLITE_FILE), join(fresh, SQLITE_FILE))
  for (const place of places) cluster.kill(place)
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `${SQLITE_FILE}${suffix}`), { force: true })
  for (const suffix of ['', '-wal'])
    try {
      renameSync(join(fresh, `${SQLITE_FILE}${suffix}`), join(dataDir, `${SQLITE_FILE}${suffix}`))
    } catch {}
  rmSync(fresh, { recursive: true })
}
