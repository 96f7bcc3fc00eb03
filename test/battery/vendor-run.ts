import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { loadConfig } from '../../src/context/config.ts'
import { toLagosDay } from '../../src/contract/time.ts'
import { toBlindIndexText } from '../../src/crypto/mac.ts'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { createContext } from '../../src/server/create-context.ts'
import { newDataDir, type RunningServer, type Settings, startServer, tabbat } from '../process/tabbat.ts'
import { findAuditFaults, findCountFaults, leavePlace, newKey, readAudit } from './place.ts'
import {
  type Book,
  CALLERS,
  createBook,
  createVendorCallers,
  createWishes,
  GUESSERS,
  toProbes,
  type VendorCallers,
} from './vendor-callers.ts'
import {
  type Crash,
  findVendorFaults,
  listCut,
  type Money,
  toExcess,
  type VendorFacts,
} from './vendor-checks.ts'
import type { Sort } from './vendor-conduct.ts'
import { type LedgerVendor, startLedgerVendor, VENDORS } from './vendor-ledger.ts'

/** Servers on one database, vendors with a ledger, and callers. */
export type VendorRun = {
  /** Of the database. Each server has a data folder of its own, if there are several. */
  readonly settings: Settings
  readonly vendor: LedgerVendor
  readonly fleet: Fleet
  readonly book: Book
  readonly callers: VendorCallers
  readonly toSubject: (number: string) => string
  readonly crashes: Crash[]
  readonly faults: string[]
  readonly startedOn: number
}

export type VendorReport = {
  readonly faults: readonly string[]
  readonly figures: Readonly<Record<string, number>>
  /** What was compared. */
  readonly facts: VendorFacts
}

type Options = {
  /** Of the database and the sources. */
  readonly settings?: Settings
  readonly nodes?: number
  readonly sorts?: readonly Sort[]
  readonly hasGuesses?: boolean | undefined
}

const SOURCES: Settings = { TABBAT_NIN_SOURCES: 'dojah,blusalt' }

export async function openVendorRun(options: Options): Promise<VendorRun> {
  const { nodes = 1, sorts, hasGuesses } = options
  const vendor = await startLedgerVendor()
  const settings = {
    ...{ ...SOURCES, ...vendor.settings, TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: 'off' },
    ...{ TABBAT_DATA_DIR: newDataDir(), ...(nodes > 1 && { TABBAT_ROOT_KEY: createRootKeyText() }) },
    ...options.settings,
  }
  const { keys, toSubject } = await prepare(settings)
  const folders = Array.from({ length: nodes - 1 }, newDataDir)
  const fleet = await startFleet([
    settings,
    ...folders.map((folder) => ({ ...settings, TABBAT_DATA_DIR: folder })),
  ])
  const book = createBook()
  const callers = createVendorCallers(book, keys, fleet.urls, createWishes(sorts, hasGuesses))
  const startedOn = toLagosDay(Date.now())
  return { settings, vendor, fleet, book, callers, toSubject, crashes: [], faults: [], startedOn }
}

async function prepare(settings: Settings) {
  const context = await createContext(loadConfig(settings, ''))
  try {
    const keys = new Map<string, string>()
    for (const name of [...CALLERS, ...GUESSERS]) keys.set(name, await newKey(context, 'live', name))
    const { subject } = context.keyring()
    return { keys, toSubject: (number: string) => toBlindIndexText(subject, 'nin', number) }
  } finally {
    await context.close()
  }
}

type Fleet = Awaited<ReturnType<typeof startFleet>>

async function startFleet(list: readonly Settings[]) {
  const servers: (RunningServer | undefined)[] = await Promise.all(list.map((each) => startServer(each)))
  return {
    settings: list,
    urls: () => servers.flatMap((server) => (server ? [server.url] : [])),
    pid: (index: number) => servers[index]?.child.pid ?? 0,
    /** Runs `strike`, which kills this server, and waits for its end. */
    untilGone: async (index: number, strike: () => Promise<unknown>) => {
      const child = servers[index]?.child
      if (!child) return
      const ended = once(child, 'exit')
      await strike()
      await ended
      servers[index] = undefined
    },
    start: async (index: number) => {
      servers[index] = await startServer(list[index])
    },
    /** With SIGTERM. Resolves to the exit codes. */
    stop: async () =>
      Promise.all(
        servers.map(async (server, index) => {
          servers[index] = undefined
          return server ? server.stop() : 0
        }),
      ),
  }
}

/** What vendors have cost today. */
export async function readSpend({ settings, startedOn }: VendorRun): Promise<Money['sources']> {
  if (toLagosDay(Date.now()) !== startedOn)
    throw new Error('midnight in Lagos has passed, and with it the spend of the day: run it again')
  return readJson(settings, 'sources', 'status')
}

async function readJson<T>(settings: Settings, ...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await tabbat(settings, ...args, '--json')
  if (code !== 0) throw new Error(`tabbat ${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Calls that are counted and were not billed, of both vendors. */
async function readExcess(run: VendorRun): Promise<number> {
  const calls = await run.vendor.calls()
  const sources = await readSpend(run)
  return VENDORS.reduce((sum, vendor) => sum + toExcess(calls, sources, vendor), 0)
}

const REPEATS = 8

/**
 * After a start, before new requests: what was billed is counted, and the rest is not more than what died. Responses from before are
 * replayed.
 */
export async function checkRestart(run: VendorRun, what: string): Promise<void> {
  const { book, callers, faults } = run
  const excess = await readExcess(run)
  const cut = VENDORS.length * (book.counts.cut + book.counts.unavailable)
  if (excess < 0) faults.push(`${what}: ${-excess} billed calls are not counted`)
  if (excess > cut) faults.push(`${what}: ${excess} calls too many are counted, ${cut} were cut`)
  const known = [...book.first.values()]
  const drawn = Array.from(
    { length: Math.min(REPEATS, known.length) },
    () => known[Math.floor(Math.random() * known.length)],
  )
  await callers.askAll(drawn.flatMap((answer) => (answer ? [answer.wish] : [])))
}

const MAX_LATE_MS = 5000

/**
 * A time without kills, until callers got this many answers: every call that is counted was billed. Then wrong guesses show that
 * right ones that were cut left no count behind.
 */
export async function playCalm(run: VendorRun, what: string, answers: number): Promise<void> {
  const { callers, faults, book } = run
  const before = await readExcess(run)
  if (book.counts.cut + run.crashes.length === 0 && before !== 0)
    faults.push(`${what}: ${before} calls are counted and were not billed, and nothing was killed`)
  const load = callers.start()
  await load.until('acknowledged', answers)
  await load.stop()
  // Refunds are written in the background.
  const end = performance.now() + MAX_LATE_MS
  let after = await readExcess(run)
  while (after > before && performance.now() < end) after = await readExcess(run)
  if (after > before || after < 0)
    faults.push(`${what}: nothing was killed, and the excess went from ${before} to ${after} calls`)
  for (const wish of book.cut.splice(0).slice(-MAX_PROBES)) await probe(run, wish)
}

const MAX_PROBES = 3
let probes = 0

async function probe({ callers, faults }: VendorRun, wish: Parameters<typeof toProbes>[0]): Promise<void> {
  const results: string[] = []
  for (const guess of toProbes(wish, probes++)) {
    let result = await callers.ask(guess)
    for (; result === 'failed' || result === 'unavailable'; result = await callers.ask(guess))
      await pause(250)
    results.push(result)
  }
  if (results.join() !== 'answered,answered,answered,answered,answered,refused')
    faults.push(`a right guess left a count behind: wrong ones about ${wish.number} were ${results.join()}`)
}

/** With the checkpoints of every node that has written some: one that was killed early has none. */
async function verifyLog(nodes: readonly Settings[]): Promise<string[]> {
  const written = nodes.filter(({ TABBAT_DATA_DIR = '' }) =>
    existsSync(join(TABBAT_DATA_DIR, 'checkpoints.log')),
  )
  if (written.length === 0) return ['no server has written a checkpoint']
  return (await Promise.all(written.map((settings) => findAuditFaults({ settings })))).flat()
}

/** Stops the servers, reads everything and compares it. */
export async function closeRun(run: VendorRun, kills: number): Promise<VendorReport> {
  const { settings, vendor, fleet, book, callers, toSubject, crashes, faults } = run
  const codes = await fleet.stop()
  callers.close()
  const keys = await readJson<Money['keys']>(settings, 'keys', 'usage')
  const [money, rows] = [{ sources: await readSpend(run), keys }, await readAudit({ settings })]
  const calls = await vendor.calls()
  await vendor.close()
  const facts: VendorFacts = { calls, book, rows, money, toSubject, crashes }
  faults.push(...codes.filter((code) => code !== 0).map((code) => `a server ended with ${code}`))
  faults.push(...findVendorFaults(facts), ...(await findCountFaults({ settings }, rows)))
  faults.push(...(await verifyLog(fleet.settings)))
  for (const each of fleet.settings) leavePlace({ settings: each }, faults)
  if (faults.length === 0) rmSync(vendor.file)
  else faults.push(`the ledger of the vendors is kept: ${vendor.file}`)
  const figures = {
    kills,
    ...book.counts,
    'vendor calls': calls.length,
    'billed calls': calls.filter(({ billed }) => billed).length,
    'excess calls': VENDORS.reduce((sum, name) => sum + toExcess(calls, money.sources, name), 0),
    'verifications cut by kills': listCut(facts).length,
    'audit rows': rows.length,
  }
  return { faults, figures, facts }
}
