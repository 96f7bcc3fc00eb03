import cluster from 'node:cluster'
import type { AuditLog } from '../audit/audit-log.ts'
import { toFatal } from '../database/failure.ts'
import type { Log } from '../telemetry/log.ts'

/** Time to send the error responses of running requests. Nothing is disclosed meanwhile: the audit log refuses rows. */
const GRACE_MS = 100

/** Exits with code 1 when the database is damaged or lost, or its disk fails. One log event says which. */
export type FatalStop = {
  readonly stop: (error: unknown) => void
  /** For failures of the store. An open audit log refuses rows from then on. */
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
      // All workers stop, without the delay of SIGTERM: they share the database, and a restarted worker would create an empty one.
      if (cluster.isWorker) process.kill(process.ppid, 'SIGINT')
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
