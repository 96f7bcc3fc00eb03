import { availableParallelism } from 'node:os'
import type { OpenDatabase } from '../database/open-database.ts'
import { withAuditSnapshot } from './audit-snapshot.ts'
import { type Verdict, type VerifyOptions, verifyAuditLog } from './verify-audit-log.ts'
import { verifyInThreads } from './verify-in-threads.ts'
import { openVerifyPool } from './verify-pool.ts'

type StoreVerifyOptions = VerifyOptions & {
  /** Threads for a long log. */
  readonly threads?: number
  /** With fewer rows, starting threads costs more than it saves. */
  readonly threadsFromRows?: number
}

const THREADS_FROM_ROWS = 50_000
const MOST_THREADS = 8

/** Verifies the log of a store. A long one is read by several threads; if it is not sound, one reads it again to say why. */
export function verifyStore(
  store: Pick<OpenDatabase, 'database' | 'databaseUrl' | 'file'>,
  options: StoreVerifyOptions,
): Promise<Verdict> {
  const { threadsFromRows = THREADS_FROM_ROWS, ...others } = options
  const threads = options.threads ?? Math.min(availableParallelism(), MOST_THREADS)
  return withAuditSnapshot(store, async (scan) => {
    if ((await scan.countRows()) < threadsFromRows) return verifyAuditLog(scan, others)
    const pool = openVerifyPool(await scan.pageSource(), threads)
    const verdict = await verifyInThreads(scan, pool, others).finally(pool.close)
    return verdict ?? verifyAuditLog(scan, others)
  })
}
