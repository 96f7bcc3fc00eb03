import type { DatabaseSync } from 'node:sqlite'
import { createSqliteAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { createStretchCheck } from '../../src/audit/verify/stretch-check.ts'
import type { VerifyOptions } from '../../src/audit/verify/verify-audit-log.ts'
import { verifyInThreads } from '../../src/audit/verify/verify-store.ts'
import { createSqliteRowPages } from '../../src/database/page-source.ts'

/** Small, so that checkpoints cover several parts. */
const PART_ROWS = 8

/** What the threads of a verification do, on this connection: undefined when they do not accept the log. */
export function verifyPages(database: DatabaseSync, options: VerifyOptions) {
  const pages = createSqliteRowPages(database)
  const checker = { check: createStretchCheck(pages), maxAtOnce: 3 }
  return verifyInThreads(createSqliteAuditSnapshot(database), checker, options, PART_ROWS)
}
