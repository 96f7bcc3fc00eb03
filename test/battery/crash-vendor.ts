import { randomInt } from 'node:crypto'
import { startOwnPostgres } from '../postgres.ts'
import type { Settings } from '../process/tabbat.ts'
import { endLeases } from './place.ts'
import { createWishes, type Load, toGuess } from './vendor-callers.ts'
import type { Arming, Sort } from './vendor-conduct.ts'
import { PRICES } from './vendor-ledger.ts'
import {
  checkRestart,
  closeRun,
  openVendorRun,
  playCalm,
  readSpend,
  type VendorReport,
  type VendorRun,
} from './vendor-run.ts'

type Options = {
  readonly rounds: number
  readonly say: (line: string) => void
  /** Answers to callers in a time without kills. */
  readonly calm?: number
  /** Whether wrong phones are guessed, too. */
  readonly hasGuesses?: boolean
}

/** A time without kills comes at the start, at the end, and after this many kills. */
const CALM_EVERY = 10
/** Claims of killed servers are freed, so that their keys are tried again and pay again. Not always: it opens the database. */
const FREE_EVERY = 3
const LAST_WAIT_MS = 45_000

/** Kills the server, which is alone on SQLite. */
export async function crashVendorSqlite(options: Options): Promise<VendorReport> {
  const { rounds, hasGuesses } = options
  const run = await openVendorRun({ hasGuesses })
  const { fleet, callers } = run
  return playRounds(run, options, async (round) => {
    const load = callers.start()
    await fleet.untilGone(0, () => kill(run, load, [fleet.pid(0)]))
    await load.stop()
    if (round % FREE_EVERY === 0 || round === rounds) await endLeases(run)
    await fleet.start(0)
  })
}

/** Kills PostgreSQL. The server stays up. */
export async function crashVendorPostgres(options: Options): Promise<VendorReport> {
  const postgres = await startOwnPostgres()
  const run = await openVendorRun({ settings: { TABBAT_DATABASE_URL: await postgres.createDatabase() } })
  const report = await playRounds(run, options, async () => {
    const load = run.callers.start()
    await kill(run, load, [])
    const from = Date.now()
    await postgres.crash()
    await load.until('unavailable', 8)
    await postgres.restart()
    run.crashes.push({ from, to: Date.now() })
    await load.until('acknowledged', 1)
    await load.stop()
  })
  await postgres.stop()
  return report
}

/**
 * One key guesses, and the server is killed around the commit of each outcome. A guess whose response is told to a retry has counted:
 * when the limit is reached, the next number follows.
 */
export async function crashVendorGuesses({ rounds, say }: Options): Promise<VendorReport> {
  const run = await openVendorRun({ hasGuesses: false })
  const { fleet, callers, vendor, book } = run
  let number = 0
  for (let round = 1; round <= rounds; round++) {
    const guess = toGuess(number, round)
    book.wishes.push(guess)
    const pids = [fleet.pid(0)]
    let asked: ReturnType<typeof callers.ask> | undefined
    await fleet.untilGone(0, async () => {
      const struck = vendor.strike({ moment: 'answered', after: 1, pids })
      asked = callers.ask(guess)
      // A guess that is refused calls no vendor.
      if ((await asked) === 'refused') killAll(pids)
      else await struck
    })
    vendor.disarm()
    if ((await asked) === 'refused') number += 1
    await endLeases(run)
    await fleet.start(0)
    await callers.ask(guess)
  }
  say(`vendor, guesses: ${book.counts.refused} refused`)
  return closeRun(run, rounds)
}

const NODES = 3
/** Answers of the other nodes, while one is gone. */
const WITHOUT_NODE = 20

/** Kills one of three nodes on one PostgreSQL. */
export async function crashVendorNodes(options: Options): Promise<VendorReport> {
  const postgres = await startOwnPostgres()
  const settings = { TABBAT_DATABASE_URL: await postgres.createDatabase() }
  const run = await openVendorRun({ settings, nodes: NODES })
  const { fleet, callers } = run
  const report = await playRounds(run, options, async () => {
    const load = callers.start()
    const node = randomInt(NODES)
    await fleet.untilGone(node, () => kill(run, load, [fleet.pid(node)]))
    await load.until('acknowledged', WITHOUT_NODE)
    await fleet.start(node)
    await load.stop()
  })
  await postgres.stop()
  return report
}

async function playRounds(
  run: VendorRun,
  { rounds, say, calm = 120 }: Options,
  play: (round: number) => Promise<void>,
): Promise<VendorReport> {
  await playCalm(run, 'before the first kill', calm)
  for (let round = 1; round <= rounds; round++) {
    await play(round)
    await checkRestart(run, `kill ${round}`)
    if (round % CALM_EVERY === 0 || round === rounds) {
      await playCalm(run, `after kill ${round}`, calm)
      say(`vendor, kill ${round} of ${rounds}: ${run.book.counts.acknowledged} acknowledged`)
    }
  }
  await run.callers.settle(LAST_WAIT_MS)
  return closeRun(run, rounds)
}

const MAX_CALLS = 120

/** At the moments that matter: when a vendor has a request, or has just answered it; or after some answers to callers. */
async function kill({ vendor }: VendorRun, load: Load, pids: readonly number[]): Promise<void> {
  const armings: readonly Arming[] = [
    { moment: 'received', after: randomInt(1, MAX_CALLS), pids },
    { moment: 'answered', after: randomInt(1, MAX_CALLS), pids },
    // After a failure of the first vendor, or beside a slow call to it.
    { moment: 'received', vendor: 'blusalt', after: randomInt(1, MAX_CALLS / 10), pids },
  ]
  const arming = armings[randomInt(armings.length + 1)]
  if (arming) return vendor.strike(arming)
  await load.until('acknowledged', randomInt(1, MAX_CALLS))
  killAll(pids)
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The vendor has struck meanwhile.
    }
}

const WANTED_A_KILL = 80
const SHARE_OF_CAP = 0.6
/** The rest of a naira is too little for a call. */
const ODD_NAIRA = 30
/** What dead nodes had leased must be back by then. */
const MAX_LEASE_MS = 90_000
const CAP_SORTS: readonly Sort[] = [...(Array(12).fill('found') as Sort[]), 'no_funds']

/** A daily cap on three nodes. */
export async function crashVendorCapOfNodes({ rounds, say }: Options): Promise<VendorReport> {
  const postgres = await startOwnPostgres()
  const settings = { TABBAT_DATABASE_URL: await postgres.createDatabase() }
  const report = await crashVendorCap({ rounds, say, nodes: NODES, settings })
  await postgres.stop()
  return report
}

type CapOptions = Options & { readonly nodes?: number; readonly settings?: Settings }

/** A daily cap that ends the calls after 60 % of the kills. In the end one node is left, which spends the rest. */
export async function crashVendorCap(options: CapOptions): Promise<VendorReport> {
  const { rounds, say, nodes = 1, settings = {} } = options
  const cap = Math.round(rounds * WANTED_A_KILL * SHARE_OF_CAP) * PRICES.dojah + ODD_NAIRA
  const only = { TABBAT_NIN_SOURCES: 'dojah', TABBAT_DOJAH_DAILY_CAP: String(cap) }
  const run = await openVendorRun({
    settings: { ...settings, ...only },
    nodes,
    sorts: CAP_SORTS,
    hasGuesses: false,
  })
  const { fleet, callers, vendor } = run
  for (let round = 1; round <= rounds; round++) {
    const load = callers.start()
    const node = randomInt(nodes)
    const pids = [fleet.pid(node)]
    await fleet.untilGone(node, async () => {
      // When the cap is reached, no vendor is called any more.
      const isMet = await Promise.race([
        vendor.strike({ moment: 'received', after: randomInt(1, WANTED_A_KILL), pids }).then(() => true),
        load.until('sent', WANTED_A_KILL).then(() => false),
      ])
      vendor.disarm()
      if (!isMet) killAll(pids)
    })
    // The other nodes go on meanwhile.
    if (nodes === 1) await load.stop()
    await fleet.start(node)
    await load.stop()
    await checkRestart(run, `cap, kill ${round}`)
  }
  for (let node = 1; node < nodes; node++) await fleet.untilGone(node, async () => killAll([fleet.pid(node)]))
  const waitedMs = await spendRest(run, cap)
  say(`vendor, cap: spent to the end ${Math.round(waitedMs)} ms after the other nodes were gone`)
  const report = await closeRun(run, rounds + nodes - 1)
  return { ...report, faults: [...report.faults, ...findCapFaults(report, cap)] }
}

/** The last node asks until the cap is used up. */
async function spendRest(run: VendorRun, cap: number): Promise<number> {
  const startedAt = performance.now()
  const next = createWishes(['found'], false, 1_000_000)
  const isSpent = async () => {
    const sources = await readSpend(run)
    return (sources[0]?.spentKoboToday ?? 0) / 100 > cap - PRICES.dojah
  }
  while (!(await isSpent()) && performance.now() - startedAt < MAX_LEASE_MS) {
    const wishes = Array.from({ length: 20 }, () => ({ ...next(), header: undefined }))
    run.book.wishes.push(...wishes)
    await run.callers.askAll(wishes)
  }
  return performance.now() - startedAt
}

/** `cap` in naira. */
export function findCapFaults({ facts }: Pick<VendorReport, 'facts'>, cap: number): string[] {
  const billed = facts.calls.filter((call) => call.billed).length * PRICES.dojah
  const counted = (facts.money.sources[0]?.spentKoboToday ?? 0) / 100
  return [
    ...(billed > cap ? [`the vendor billed ${billed} naira, the cap is ${cap}`] : []),
    ...(counted > cap ? [`${counted} naira are counted, the cap is ${cap}`] : []),
    ...(counted <= cap - PRICES.dojah
      ? [`${counted} naira of ${cap} are counted, and no call is allowed`]
      : []),
  ]
}
