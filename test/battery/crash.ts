import { parseArgs } from 'node:util'
import { startOwnPostgres, whyNoPostgres } from '../postgres.ts'
import { newDataDir } from '../process/tabbat.ts'
import { crashPending } from './crash-pending.ts'
import { crashPostgres } from './crash-postgres.ts'
import { printReport } from './crash-report.ts'
import { crashSqlite } from './crash-sqlite.ts'
import { crashWebhooks } from './crash-webhooks.ts'

/** npm run battery:crash -- --sqlite 200 --postgres 40 --webhooks 20 --pending 20 */
const { values } = parseArgs({
  options: {
    sqlite: { type: 'string', default: '200' },
    postgres: { type: 'string', default: '40' },
    webhooks: { type: 'string', default: '20' },
    pending: { type: 'string', default: '20' },
  },
})
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`)

const missing = whyNoPostgres()
if (missing !== undefined) say(`the crashes of PostgreSQL are left out: ${missing}`)
const runs = [
  [crashSqlite, Number(values.sqlite)],
  [crashPostgres, missing === undefined ? Number(values.postgres) : 0],
] as const
for (const [crash, rounds] of runs) {
  if (rounds === 0) continue
  const report = await crash({ rounds, isPatient: true, say })
  console.log(`\n${printReport(report)}\n`)
  if (report.faults.length > 0) process.exitCode = 1
}

/** Kills servers with undelivered events, on both databases. */
const webhookRounds = Number(values.webhooks)
const postgres = missing === undefined && webhookRounds > 0 ? await startOwnPostgres() : undefined
const databases = webhookRounds > 0 ? [undefined, await postgres?.createDatabase()] : []
for (const databaseUrl of databases.slice(0, postgres ? 2 : 1)) {
  const dataDir = newDataDir()
  const settings = { TABBAT_DATA_DIR: dataDir, ...(databaseUrl && { TABBAT_DATABASE_URL: databaseUrl }) }
  const report = await crashWebhooks({
    rounds: webhookRounds,
    settings,
    store: { dataDir, databaseUrl },
    say,
  })
  const { kills, events, requests, faults } = report
  const engine = databaseUrl === undefined ? 'SQLite' : 'PostgreSQL'
  console.log(
    `\nwebhooks on ${engine}: ${kills} kills, ${events} events, ${requests} requests, ${faults.length} faults`,
  )
  for (const fault of faults) console.log(`  ${fault}`)
  if (faults.length > 0) process.exitCode = 1
}
await postgres?.stop()

if (Number(values.pending) > 0) {
  const { accepted, calls, faults } = await crashPending({ rounds: Number(values.pending), say })
  say(`pending verifications: ${accepted} accepted, ${calls} paid calls, ${faults.length} faults`)
  for (const fault of faults) say(fault)
  if (faults.length > 0) process.exitCode = 1
}
