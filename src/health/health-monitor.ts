import type { AuditLog } from '../audit/audit-log.ts'
import type { Context } from '../context/context.ts'
import { runDataChecks } from './data-checks.ts'
import type { Finding } from './finding.ts'
import { runLocalChecks } from './local-checks.ts'

export type HealthReport = {
  readonly at: number
  /** When the checks that read the data were made; undefined before the first time. */
  readonly dataAt: number | undefined
  readonly findings: readonly Finding[]
}

/** The checks of a running server. They are made on request. Those that read the data run in the background, and a request gets their last result. */
export type HealthMonitor = { readonly read: () => Promise<HealthReport> }

type MonitorDeps = Pick<Context, 'config' | 'store' | 'keyring' | 'rootKeys'> & {
  readonly audit: Pick<AuditLog, 'check' | 'isHealthy'>
}

const LOCAL_MS = 3000
const DATA_MS = 60_000

type Made = { readonly at: number; readonly findings: readonly Finding[] }

export function createHealthMonitor({ config, store, keyring, rootKeys, audit }: MonitorDeps): HealthMonitor {
  const server = { isWritable: () => audit.check() }
  let local: { readonly startedAt: number; readonly made: Promise<Made> } | undefined
  let data: Made | undefined
  let running: Promise<void> | undefined

  const readLocal = (): Promise<Made> => {
    const now = performance.now()
    if (!local || now - local.startedAt > LOCAL_MS) {
      const made = runLocalChecks(config, Date.now(), server).then(toMade)
      local = { startedAt: now, made }
    }
    return local.made
  }
  const startData = () => {
    if (running || (data && Date.now() - data.at < DATA_MS)) return
    running = runDataChecks({ config, store, rootKeys, keyring: keyring() })
      .then((findings) => {
        data = toMade(findings)
      })
      .finally(() => {
        running = undefined
      })
  }
  return {
    read: async () => {
      const { at, findings } = await readLocal()
      // Without the store they would only fail, each after its time limit.
      if (audit.isHealthy) startData()
      return { at, dataAt: data?.at, findings: [...findings, ...(data?.findings ?? [])] }
    },
  }
}

const toMade = (findings: readonly Finding[]): Made => ({ at: Date.now(), findings })
