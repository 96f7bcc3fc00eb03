import { readArguments, toWhole } from '../../build/tool-arguments.ts'
import { startOwnPostgres, whyNoPostgres } from '../postgres.ts'
import { newDataDir } from '../process/tabbat.ts'
import { crashBatches } from './crash-batches.ts'
import { crashPending } from './crash-pending.ts'
import { crashPostgres } from './crash-postgres.ts'
import { printReport } from './crash-report.ts'
import { crashSqlite } from './crash-sqlite.ts'
import {
  crashVendorCap,
  crashVendorCapOfNodes,
  crashVendorGuesses,
  crashVendorNodes,
  crashVendorPostgres,
  crashVendorSqlite,
} from './crash-vendor.ts'
import { crashWebhooks } from './crash-webhooks.ts'

const HELP = `npm run battery:crash -- [options]

Kills servers at work, starts them again, and compares what they have recorded with what callers and vendors saw. 0 leaves one out.

  --sqlite N           rounds on SQLite (default 200)
  --postgres N         on PostgreSQL (40)
  --webhooks N         with events that are not delivered (20)
  --pending N          with pending verifications (20)
  --batches N          with batches (20)
  --vendor-sqlite N    while a vendor is asked, on SQLite (20)
  --vendor-postgres N  on PostgreSQL (5)
  --vendor-nodes N     on two nodes (5)`

const { values } = readArguments(HELP, {
  sqlite: { type: 'string', default: '200' },
  postgres: { type: 'string', default: '40' },
  webhooks: { type: 'string', default: '20' },
  pending: { type: 'string', default: '20' },
  batches: { type: 'string', default: '20' },
  'vendor-sqlite': { type: 'string', default: '20' },
  'vendor-postgres': { type: 'string', default: '5' },
  'vendor-nodes': { type: 'string', default: '5' },
})
for (const [name, rounds] of Object.entries(values)) toWhole(`--${name}`, rounds, 0)
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

/** With undelivered events and with batches, on both databases. */
const further = [
  ['webhooks', crashWebhooks, Number(values.webhooks)],
  ['batches', crashBatches, Number(values.batches)],
] as const
const postgres =
  missing === undefined && further.some(([, , rounds]) => rounds > 0) ? await startOwnPostgres() : undefined
for (const [name, crash, rounds] of further.filter(([, , rounds]) => rounds > 0))
  for (const databaseUrl of [undefined, ...(postgres ? [await postgres.createDatabase()] : [])]) {
    const dataDir = newDataDir()
    const settings = { TABBAT_DATA_DIR: dataDir, ...(databaseUrl && { TABBAT_DATABASE_URL: databaseUrl }) }
    const { faults, ...figures } = await crash({ rounds, settings, store: { dataDir, databaseUrl }, say })
    const engine = databaseUrl === undefined ? 'SQLite' : 'PostgreSQL'
    const shown = Object.entries(figures).map(([label, figure]) => `${figure} ${label}`)
    console.log(`\n${name} on ${engine}: ${shown.join(', ')}, ${faults.length} faults`)
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

/** Against vendors with a ledger of their own. */
const ofServer = Number(values['vendor-sqlite'])
const ofPostgres = missing === undefined ? Number(values['vendor-postgres']) : 0
const ofNodes = missing === undefined ? Number(values['vendor-nodes']) : 0
const vendorRuns = [
  ['kill -9 of the server, SQLite', ofServer, crashVendorSqlite],
  ['a daily cap, kill -9 of the server, SQLite', Math.ceil(ofServer / 4), crashVendorCap],
  ['wrong guesses, kill -9 of the server, SQLite', ofServer, crashVendorGuesses],
  ['kill -9 of PostgreSQL', ofPostgres, crashVendorPostgres],
  ['kill -9 of one of three nodes', ofNodes, crashVendorNodes],
  ['a daily cap, kill -9 of one of three nodes', ofNodes, crashVendorCapOfNodes],
] as const
for (const [title, rounds, crash] of vendorRuns.filter(([, rounds]) => rounds > 0)) {
  const { faults, figures } = await crash({ rounds, say })
  const shown = Object.entries(figures).map(([label, figure]) => `${figure} ${label}`)
  console.log(`\nvendors, ${title}: ${shown.join(', ')}, ${faults.length} faults`)
  for (const fault of faults) console.log(`  ${fault}`)
  if (faults.length > 0) process.exitCode = 1
}
