import { readdirSync, readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { createIsProxy } from './address.ts'
import type { ConnectionLimits } from './connection.ts'

/** What a listener may use of the file descriptors that are left; the rest is for the database, vendors and files. */
const SHARES = { api: 0.6, admin: 0.1 }
/**
 * The console's exports are long, and the system sends to a slow reader in large steps: with a limit of 3 s, a reader of
 * 160 KB a second was cut. The limit must be above the time between two steps.
 */
const STALLED_MS = { api: 30_000, admin: 120_000 }
const LEAST = 8
/** Where the limit cannot be read. */
const COMMON_LIMIT = 1024

export function toConnectionLimits(
  { trustProxy, maxStrangersPerAddress }: Config,
  listener: keyof typeof SHARES,
): ConnectionLimits {
  return {
    most: Math.max(LEAST, Math.floor(SHARES[listener] * countFreeDescriptors())),
    // The console has no keys; people sign in.
    strangersPerAddress: listener === 'admin' ? Number.POSITIVE_INFINITY : maxStrangersPerAddress,
    isProxy: createIsProxy(trustProxy),
    stalledMs: STALLED_MS[listener],
  }
}

function countFreeDescriptors(): number {
  return readDescriptorLimit() - countOpen()
}

/** Linux says it at once; elsewhere the report of Node.js does, which takes 50 ms. */
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
  return typeof soft === 'number' ? soft : COMMON_LIMIT
}

function countOpen(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch {
    return 0
  }
}
