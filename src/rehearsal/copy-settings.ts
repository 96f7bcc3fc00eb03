import { resolve } from 'node:path'
import { type Config, listSettings } from '../context/config.ts'
import type { Environment } from '../settings/read-settings.ts'
import type { VendorInUse } from '../sources/vendors.ts'
import type { Settings } from './program.ts'

/** What the servers of the rehearsal use instead of what the operator's servers use. */
type CopyPlace = {
  readonly dataDir: string
  readonly checkpointDir: string
  /** Through a proxy on this machine. Absent: SQLite. */
  readonly databaseUrl: string | undefined
  /** The present root key and, during a rotation, the previous one. */
  readonly rootKeys: readonly string[]
  /** The settings of each simulated vendor. */
  readonly vendors: Readonly<Record<string, Settings>>
}

/** Rehearsals need about ten requests a second. */
const LEAST_RATE_LIMIT = 3000
/** Calls of one rehearsal to one vendor, at most. */
const MAX_CALLS = 20_000

/**
 * Settings that could reach somebody, or that are about the place where the operator's servers run. Those of the data, the root key and
 * the log are set for the copy.
 */
const NOT_TAKEN =
  /^(OTEL_|TABBAT_(OIDC_|TLS_|CATALOGUE_|METRICS_|API_KEY|PUBLIC_URL|TRUST_PROXY|DATABASE_URL|ROOT_KEY|LOG_|ADMIN_|HOST$|PORT$|DATA_DIR|CHECKPOINT_DIR|AUDIT_|WEBHOOKS_PRIVATE|NOTICES_|TWO_FACTOR))/

/** Of each vendor: the rest is its address, its credentials and the paths of its products. */
const TAKEN_OF_VENDOR = [
  ...['price', 'ninPrice', 'bvnPrice', 'dailyCap', 'connections', 'not_found', 'notFound'],
  // Whether it is asked without names is for the operator to say.
  ...['names_optional', 'namesOptional'],
]

/** Variables that any program needs. */
const MACHINE = ['PATH', 'HOME', 'USER', 'LANG', 'TZ', 'TMPDIR', 'TEMP', 'SystemRoot', 'NODE_COMPILE_CACHE']

type CopySettings = {
  readonly settings: Settings
  /** What differs from the operator's settings and could surprise. */
  readonly notes: readonly string[]
}

/** The settings for the copy: the operator's own, but for what must differ. `given` has the texts of the environment and of .env. */
export function toCopySettings(config: Config, given: Environment, place: CopyPlace): CopySettings {
  const notes: string[] = []
  const ofVendors = new Set(
    [...config.knownVendors.values()].flatMap(({ settings }) =>
      Object.values(settings).map((entry) => entry.env),
    ),
  )
  const own = listSettings(config.knownVendors)
    .filter(({ env }) => !NOT_TAKEN.test(env) && !ofVendors.has(env) && given[env] !== undefined)
    .map(({ env }): [string, string] => [env, given[env] ?? ''])
  const vendors = Object.entries(config.vendors).flatMap(([name, vendor]) => {
    const simulated = place.vendors[name]
    return simulated === undefined ? [] : toVendorSettings(vendor, given, notes, simulated)
  })
  const machine = MACHINE.flatMap((name): [string, string][] =>
    given[name] === undefined ? [] : [[name, given[name] ?? '']],
  )
  const settings = {
    ...Object.fromEntries([...machine, ...own, ...vendors]),
    ...toPaths(config),
    ...toLimits(config, notes),
    ...toFixed(place),
  }
  return { settings, notes }
}

/** The children run in another folder. */
const toPaths = ({ vendorsDir, auditArchiveDir }: Config): Settings => ({
  ...(vendorsDir !== undefined && { TABBAT_VENDORS_DIR: resolve(vendorsDir) }),
  // For reading: nothing is archived while TABBAT_AUDIT_KEEP is off.
  ...(auditArchiveDir !== undefined && { TABBAT_AUDIT_ARCHIVE_DIR: resolve(auditArchiveDir) }),
})

const toFixed = ({ dataDir, checkpointDir, databaseUrl, rootKeys }: CopyPlace): Settings => ({
  TABBAT_HOST: '127.0.0.1',
  TABBAT_PORT: '0',
  TABBAT_ADMIN_PORT: 'off',
  TABBAT_LOG_LEVEL: 'warn',
  TABBAT_SHUTDOWN_DELAY: 'off',
  TABBAT_LOOPBACK_ONLY: 'on',
  TABBAT_WEBHOOKS_PRIVATE: 'on',
  TABBAT_DATA_DIR: dataDir,
  TABBAT_CHECKPOINT_DIR: checkpointDir,
  ...(databaseUrl !== undefined && { TABBAT_DATABASE_URL: databaseUrl }),
  ...(rootKeys[0] !== undefined && { TABBAT_ROOT_KEY: rootKeys[0] }),
  ...(rootKeys[1] !== undefined && { TABBAT_ROOT_KEY_PREVIOUS: rootKeys[1] }),
})

function toLimits({ rateLimit, sandbox, vendors }: Config, notes: string[]): Settings {
  const limits: Record<string, string> = {}
  if (rateLimit !== 'off' && rateLimit < LEAST_RATE_LIMIT) {
    limits.TABBAT_RATE_LIMIT = String(LEAST_RATE_LIMIT)
    notes.push(
      `TABBAT_RATE_LIMIT was raised to ${LEAST_RATE_LIMIT} on the copy, for the requests of the exercises.`,
    )
  }
  if (Object.keys(vendors).length === 0 && sandbox === 'off') {
    limits.TABBAT_SANDBOX = 'on'
    notes.push('TABBAT_SANDBOX was set to on for the copy: without a vendor, the exercises use the sandbox.')
  }
  return limits
}

function toVendorSettings(
  { vendor, values }: VendorInUse,
  given: Environment,
  notes: string[],
  simulated: Settings,
): [string, string][] {
  const { settings, name } = vendor
  const isGiven = (key: string) => given[settings[key]?.env ?? ''] !== undefined
  const others = Object.entries(settings).filter(
    ([key, { secret, required, env }]) =>
      !TAKEN_OF_VENDOR.includes(key) && key !== 'url' && !secret && !required && given[env] !== undefined,
  )
  if (others.length > 0)
    notes.push(
      `The simulated ${name} answers at the documented paths, so these settings were not used: ${others.map(([, { env }]) => env).join(', ')}.`,
    )
  const taken = TAKEN_OF_VENDOR.filter(isGiven).map((key): [string, string] => {
    const env = settings[key]?.env ?? ''
    if (key !== 'dailyCap') return [env, given[env] ?? '']
    return [env, toCap(Number(values.dailyCap), values, env, notes)]
  })
  const ofOperator = TAKEN_OF_VENDOR.map((key) => settings[key]?.env)
  return [...taken, ...Object.entries(simulated).filter(([env]) => !ofOperator.includes(env))]
}

/** The calls of a rehearsal must fit under the daily cap. Values are in kobo, settings in naira. */
function toCap(cap: number, values: Readonly<Record<string, unknown>>, env: string, notes: string[]): string {
  const price = Math.max(...['price', 'ninPrice', 'bvnPrice'].map((key) => Number(values[key] ?? 0)))
  const needed = MAX_CALLS * price
  if (cap >= needed) return String(cap / KOBO)
  notes.push(
    `${env} was raised on the copy, because the calls of the exercises count. The cap itself is not rehearsed.`,
  )
  return String(needed / KOBO)
}

const KOBO = 100
