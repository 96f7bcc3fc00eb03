import type { AuditLog } from '../audit/audit-log.ts'
import type { Context } from '../context/context.ts'
import type { SeenFinding } from '../notices/node-findings.ts'
import { runDataChecks } from './data-checks.ts'
import { type Finding, skipped, toParts } from './finding.ts'
import { runLocalChecks } from './local-checks.ts'

export type HealthReport = {
  readonly at: number
  /** When the checks that read the data were made; undefined before the first time. */
  readonly dataAt: number | undefined
  readonly findings: readonly Finding[]
  /** Those of this machine: another node may find something else. */
  readonly local: readonly Finding[]
}

/** The checks of a running server. They are made on request. Those that read the data run in the background, and a request gets their last result. */
export type HealthMonitor = { readonly read: () => Promise<HealthReport> }

type MonitorDeps = Pick<Context, 'config' | 'store' | 'keyring' | 'rootKeys'> & {
  readonly audit: Pick<AuditLog, 'check' | 'isHealthy'>
}

const LOCAL_MS = 3000
const DATA_MS = 60_000

/** `steadyAt` is not of the clock of the wall: that may be set back, and the check of the clock must go on. */
type Made = { readonly at: number; readonly steadyAt: number; readonly findings: readonly Finding[] }

export function createHealthMonitor({ config, store, keyring, rootKeys, audit }: MonitorDeps): HealthMonitor {
  const server = { isWritable: () => audit.check() }
  let local: { readonly startedAt: number; readonly made: Promise<Made> } | undefined
  let data: Made | undefined
  /** The store was away since then. */
  let isStale = false
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
    if (running || (data && !isStale && performance.now() - data.steadyAt < DATA_MS)) return
    running = runDataChecks({ config, store, rootKeys, keyring: keyring() })
      .then((findings) => {
        // If the store went away meanwhile, they only say that.
        if (!audit.isHealthy) return
        data = toMade(findings)
        isStale = false
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
      else isStale = true
      const known = data?.findings ?? []
      const ofData = audit.isHealthy ? known : known.map(toUnchecked)
      return { at, dataAt: data?.at, findings: [...findings, ...ofData], local: findings }
    },
  }
}

/** What incidents are made of: all that is not fine, by its name. What is about this machine has its node as the scope. */
export function toSightings({ findings, local }: HealthReport, node: string) {
  const all = findings.flatMap((finding) => listSeen(finding, local.includes(finding), node))
  const seen = new Map<string, SeenFinding>()
  // Of several with one name, the first that is critical.
  for (const each of all) if (seen.get(each.name)?.level !== 'critical') seen.set(each.name, each)
  return { checks: findings.map(({ check }) => check), findings: [...seen.values()] }
}

/** Checks of the data that compare it with the clock or a folder of this machine. */
const OF_MACHINE = ['clock', 'checkpoints', 'erasures', 'revocations']
/** What a check of these is about if it is the machine; checkpoints are also sent to receivers, which are the same for all nodes. */
const MACHINE_PARTS = ['', 'folder']

const listSeen = (finding: Finding, isLocal: boolean, node: string): SeenFinding[] =>
  toParts(finding).map(({ about, status, text }) => ({
    name: about === '' ? finding.check : `${finding.check}: ${about}`,
    checkName: finding.check,
    scope: isLocal || (OF_MACHINE.includes(finding.check) && MACHINE_PARTS.includes(about)) ? node : '',
    level: status === 'failed' ? 'critical' : 'warning',
    text,
  }))

/** What was wrong still is, as far as is known. What was fine is not known. */
const toUnchecked = (finding: Finding): Finding =>
  finding.status === 'ok' ? skipped(finding.check, 'Not checked: the database cannot be used now.') : finding

const toMade = (findings: readonly Finding[]): Made => ({
  at: Date.now(),
  steadyAt: performance.now(),
  findings,
})
