import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { startServer } from '../process/tabbat.ts'
import { type CrashOptions, type CrashReport, toReport } from './crash-report.ts'
import { createLedger } from './ledger.ts'
import { createCallers } from './load.ts'
import { createPlace, endLeases, findAuditFaults, findCountFaults, leavePlace, readAudit } from './place.ts'

/** A server is killed after at most this many answers: some during the start, some at full speed. */
const MAX_ANSWERS = 400
/** Requests answered before a crash are repeated after it and must return the same bytes. */
const REPEATS = 8
/** Longer than the lease of a claim whose owner died. */
const LAST_WAIT_MS = 45_000

/** Kills the server again and again under load, then compares the answers with the audit log. */
export async function crashSqlite({ rounds, isPatient, say }: CrashOptions): Promise<CrashReport> {
  const startedAt = performance.now()
  const place = await createPlace()
  const ledger = createLedger()
  const callers = createCallers(ledger, place)
  let slowestStartMs = 0
  let retries = 0
  const start = async () => {
    const before = performance.now()
    const server = await startServer(place.settings)
    slowestStartMs = Math.max(slowestStartMs, performance.now() - before)
    return server
  }

  for (let round = 1; round <= rounds; round++) {
    const { child, url } = await start()
    retries += ledger.unanswered().length
    await callers.ask(url, [...ledger.unanswered(), ...ledger.answered(REPEATS)])
    const load = callers.start(url)
    await load.until('acknowledged', randomInt(MAX_ANSWERS))
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await load.stop()
    if (round % 10 === 0 || round === rounds)
      say(`kill -9, round ${round} of ${rounds}: ${ledger.counts.acknowledged} acknowledged`)
  }

  if (!isPatient) await endLeases(place)
  const last = await start()
  await callers.askUntilAnswered(last.url, LAST_WAIT_MS)
  callers.close()
  const code = await last.stop()
  const rows = await readAudit(place)
  const faults = [
    ...ledger.findFaults(rows),
    ...(await findAuditFaults(place)),
    ...(await findCountFaults(place, rows)),
  ]
  if (code !== 0) faults.push(`the last server ended with ${code}`)
  leavePlace(place, faults)
  return toReport('kill -9 of the server, SQLite', faults, {
    rounds,
    ...ledger.counts,
    'retries of unanswered keys': retries,
    'audit rows': rows.length,
    chains: new Set(rows.map(({ chain }) => chain)).size,
    'slowest start, ms': Math.round(slowestStartMs),
    'seconds in all': Math.round((performance.now() - startedAt) / 1000),
  })
}
