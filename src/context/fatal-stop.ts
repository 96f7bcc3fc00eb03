import cluster from 'node:cluster'
import type { AuditLog } from '../audit/audit-log.ts'
import { toFatal } from '../store/failure.ts'
import type { Log } from '../telemetry/log.ts'

/** How long refusals of requests under way have to leave. Nothing is disclosed meanwhile: the audit log takes no row. */
const GRACE_MS = 100

/** Ends the process with 1 when the database is damaged or lost or its disk fails. One log event says which. */
export type FatalStop = {
  readonly stop: (error: unknown) => void
  /** For what the store meets. Once the audit log is open, it takes no more rows from then on. */
  readonly notice: (error: unknown) => void
  audit: AuditLog | undefined
}

export function createFatalStop(log: Log): FatalStop {
  let isStopping = false
  const stop = (error: unknown) => {
    if (isStopping) return
    isStopping = true
    log.event('error', toFatal(error) ?? 'database_damaged')
    log.failure(error)
    log.flush()
    setTimeout(() => {
      log.flush()
      // The other workers have the same database, and a new worker in this place would make an empty one: all end.
      if (cluster.isWorker) process.kill(process.ppid, 'SIGTERM')
      process.exit(1)
    }, GRACE_MS)
  }
  const fatalStop: FatalStop = {
    stop,
    audit: undefined,
    notice: (error) => {
      if (fatalStop.audit) fatalStop.audit.reportFailure(error)
      else stop(error)
    },
  }
  return fatalStop
}
