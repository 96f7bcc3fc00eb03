import type { SyncDatabase } from '../database/database.ts'
import type { Appended, AuditBatch } from './audit-batch.ts'
import { AUDIT_COLUMNS } from './audit-row.ts'
import { COMPLETE, type Completion } from './completion.ts'
import { type EncodedRows, readRows } from './encoded-rows.ts'
import { createSqliteChecks } from './sqlite-checks.ts'
import { ADD_TALLY, toTallyValues } from './tally.ts'

const INSERT = `INSERT INTO audit (${AUDIT_COLUMNS.join(', ')})
  VALUES (${AUDIT_COLUMNS.map((_column, index) => `$${index + 1}`).join(', ')})`

/** Appends a batch inside a transaction of SQLite. */
export function createSqliteAppend(sync: SyncDatabase): (batch: AuditBatch<EncodedRows>) => Appended {
  const applyChecks = createSqliteChecks(sync)
  const insert = sync.prepare(INSERT)
  const addTally = sync.prepare(ADD_TALLY)
  const store = sync.prepare(COMPLETE)
  const complete = ({ claim, sealed, expiresAt, subject }: Completion) =>
    store.run(claim.keyId, claim.operation, claim.name, claim.owner, sealed, expiresAt, subject ?? null) > 0
  return ({ rows, completions, tallies, checks }) => {
    const refused = checks ? applyChecks(checks) : []
    if (refused.length > 0) return { refused, late: [] }
    for (const values of readRows(rows)) insert.run(...values)
    for (const tally of tallies) addTally.run(...toTallyValues(tally))
    const late = completions.flatMap((completion, index) => (complete(completion) ? [] : [index]))
    return { refused: [], late }
  }
}
