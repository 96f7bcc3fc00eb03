import { randomInt } from 'node:crypto'
import { startOwnPostgres } from '../postgres.ts'
import { startServer } from '../process/tabbat.ts'
import { createClient } from './client.ts'
import { type CrashOptions, type CrashReport, toReport } from './crash-report.ts'
import { createLedger } from './ledger.ts'
import { createCallers, WAYS } from './load.ts'
import { createPlace, findAuditFaults, findCountFaults, leavePlace, readAudit } from './place.ts'

const MAX_ANSWERS = 400
const LAST_WAIT_MS = 45_000
/** The server must recover by itself within this time. */
const BACK_WITHIN_MS = 5000

/** Kills PostgreSQL again and again under load. The server stays up and answers 503 meanwhile. */
export async function crashPostgres({ rounds, say }: CrashOptions): Promise<CrashReport> {
  const startedAt = performance.now()
  const postgres = await startOwnPostgres()
  const place = await createPlace({ TABBAT_DATABASE_URL: await postgres.createDatabase() })
  const ledger = createLedger()
  const callers = createCallers(ledger, place)
  const health = createClient(1)
  const server = await startServer(place.settings)
  const isReady = async () => (await health.get(`${server.url}/health/ready?strict`)).status === 200
  const faults: string[] = []
  let slowestReturnMs = 0

  for (let round = 1; round <= rounds; round++) {
    const load = callers.start(server.url)
    await load.until('acknowledged', 1 + randomInt(MAX_ANSWERS))
    await postgres.crash()
    await load.until('unavailable', WAYS)
    if (await isReady()) faults.push(`round ${round}: ready without a database`)
    await postgres.restart()
    const before = performance.now()
    await load.until('acknowledged', 1)
    const returnMs = performance.now() - before
    slowestReturnMs = Math.max(slowestReturnMs, returnMs)
    if (returnMs > BACK_WITHIN_MS) faults.push(`round ${round}: back only after ${Math.round(returnMs)} ms`)
    await load.stop()
    await callers.ask(server.url, [...ledger.unanswered(), ...ledger.answered(8)])
    if (round % 10 === 0 || round === rounds)
      say(`PostgreSQL, crash ${round} of ${rounds}: ${ledger.counts.acknowledged} acknowledged`)
  }

  await callers.askUntilAnswered(server.url, LAST_WAIT_MS)
  callers.close()
  health.close()
  const code = await server.stop()
  if (code !== 0) faults.push(`the server ended with ${code}`)
  const rows = await readAudit(place)
  faults.push(
    ...ledger.findFaults(rows),
    ...(await findAuditFaults(place)),
    ...(await findCountFaults(place, rows)),
  )
  await postgres.stop()
  leavePlace(place, faults)
  return toReport('kill -9 of PostgreSQL, the server stays up', faults, {
    rounds,
    ...ledger.counts,
    'audit rows': rows.length,
    chains: new Set(rows.map(({ chain }) => chain)).size,
    'slowest return, ms': Math.round(slowestReturnMs),
    'seconds in all': Math.round((performance.now() - startedAt) / 1000),
  })
}
