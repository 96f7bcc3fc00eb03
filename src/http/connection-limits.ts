import { readdirSync, readFileSync } from 'node:fs'
import { createIsProxy } from './address.ts'
import type { ConnectionLimits } from './connections.ts'
import type { HttpSettings } from './settings.ts'

/** The share of the free file descriptors that a listener may use. The rest is for the database, vendors and files. */
const SHARES = { api: 0.6, admin: 0.1, metrics: 0.02 }
/**
 * The console's exports are long, and the system sends to a slow reader in large steps: with a limit of 3 s, a reader of
 * 160 KB a second was cut off. The limit must be above the time between two steps.
 */
const STALLED_MS = { api: 30_000, admin: 120_000, metrics: 30_000 }
const MIN_CONNECTIONS = 8
/** Used when the limit cannot be read. */
const DEFAULT_LIMIT = 1024

export function toConnectionLimits(
  { trustProxy, maxStrangersPerAddress }: Pick<HttpSettings, 'trustProxy' | 'maxStrangersPerAddress'>,
  listener: keyof typeof SHARES,
): ConnectionLimits {
  return {
    max: Math.max(MIN_CONNECTIONS, Math.floor(SHARES[listener] * countFreeDescriptors())),
    // The others have no keys.
    unauthenticatedPerAddress: listener === 'api' ? maxStrangersPerAddress : Number.POSITIVE_INFINITY,
    isProxy: createIsProxy(trustProxy),
    stalledMs: STALLED_MS[listener],
  }
}

function countFreeDescriptors(): number {
  return readDescriptorLimit() - countOpen()
}

/** From /proc on Linux. Elsewhere from the report of Node.js, which takes 50 ms. */
function readDescriptorLimit(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
  } catch {
    return readReportedLimit()
  }
}

function readReportedLimit(): number {
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = userLimits?.open_files?.soft
  if (soft === 'unlimited') return Number.POSITIVE_INFINITY
  return typeof soft === 'number' ? soft : DEFAULT_LIMIT
}

function countOpen(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch {
    return 0
  }
}
