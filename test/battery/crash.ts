import { parseArgs } from 'node:util'
import { whyNoPostgres } from '../postgres.ts'
import { crashPostgres } from './crash-postgres.ts'
import { printReport } from './crash-report.ts'
import { crashSqlite } from './crash-sqlite.ts'

/** npm run battery:crash -- --sqlite 200 --postgres 40 */
const { values } = parseArgs({
  options: {
    sqlite: { type: 'string', default: '200' },
    postgres: { type: 'string', default: '40' },
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
