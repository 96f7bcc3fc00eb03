import { closeSync, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { isReadableByAll } from '../crypto/secret-file.ts'
import { refuseUntrustedPath, refuseUntrustedStats, UntrustedPath } from '../crypto/trusted-path.ts'
import { type Environment, listTlsProblems, readSettings } from '../settings/read-settings.ts'
import type { Setting, ValuesOf } from '../settings/setting.ts'
import { type ShownSetting, toShownSetting } from '../settings/shown-setting.ts'
import { readVendors } from '../sources/vendor-reader.ts'
import { VENDOR_NAMES, VENDORS, type VendorValues } from '../sources/vendors.ts'
import { listSsoProblems } from './access-settings.ts'
import { SETTINGS } from './server-settings.ts'
import { listTelemetryProblems } from './telemetry-settings.ts'
import { listShareProblems } from './worker-share.ts'

export type Config = ValuesOf<typeof SETTINGS> & {
  /** All settings as read at the start, including those of vendors. */
  readonly shownSettings: readonly ShownSetting[]
  /** The .env file, if it contains secrets and every user of the machine can read it. */
  readonly exposedEnvFile: string | undefined
  /** Variables that begin with TABBAT_, or with OTEL_ if it is in use, and are no settings: most often typing errors. */
  readonly unknownSettings: readonly string[]
  /** The settings of vendors in use: named in a list of sources, or with a required variable set. */
  readonly vendors: VendorValues
}

/** All problems of the settings. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** Sets the data folder for this process and for workers that it starts. */
export function useDataDir(folder: string): void {
  process.env.TABBAT_DATA_DIR = folder
}

/** Reads the settings: the environment first, then `.env`, then the defaults. */
export function loadConfig(environment: Environment = process.env, envFile = '.env'): Config {
  const fromFile = readEnvFile(envFile)
  const fromEnvironment = withoutEmpty(environment)
  const given = { ...fromFile, ...fromEnvironment }
  const problems: string[] = []
  const values = readSettings(SETTINGS, given, problems) as ValuesOf<typeof SETTINGS>
  const { ninSources = [], bvnSources = [], catalogueSources = [] } = values
  const named = new Set<string>([...ninSources, ...bvnSources, ...catalogueSources])
  const vendors = readVendors(named, given, values, problems)
  const { otlpHeaders, oidcClientSecret } = values
  const sent = [...Object.keys(vendors), otlpHeaders, oidcClientSecret]
  const sendsCredentials = sent.some((each) => each !== undefined)
  problems.push(...listTlsProblems(environment, values.databaseUrl, sendsCredentials))
  if (values.catalogueSync !== 'off' && !values.catalogueSources)
    problems.push('TABBAT_CATALOGUE_SYNC needs TABBAT_CATALOGUE_SOURCES, for example vtpass')
  if ((values.tlsCert === undefined) !== (values.tlsKey === undefined))
    problems.push('TABBAT_TLS_CERT and TABBAT_TLS_KEY go together: set both or none')
  if (values.rootKeyCommand && (values.rootKey ?? values.rootKeyPrevious) !== undefined)
    problems.push(
      'TABBAT_ROOT_KEY_COMMAND excludes TABBAT_ROOT_KEY and TABBAT_ROOT_KEY_PREVIOUS: keep the one or the others. During a rotation the command prints the new key, then the current one',
    )
  if (values.auditKeep !== 'off' && values.auditArchiveDir === undefined)
    problems.push(
      'TABBAT_AUDIT_KEEP needs TABBAT_AUDIT_ARCHIVE_DIR, the folder for the archives: audit rows are never removed without an archive',
    )
  problems.push(...listShareProblems(values), ...listSsoProblems(given))
  problems.push(...listTelemetryProblems(given, values))
  if (problems.length > 0) throw new ConfigError(problems)
  const shownSettings = listSettings().map((entry) => toShownSetting(entry, fromEnvironment, fromFile))
  const hasSecrets = shownSettings.some(({ isSecret, origin }) => isSecret && origin === '.env')
  return Object.freeze({
    ...values,
    vendors,
    shownSettings,
    exposedEnvFile: hasSecrets && isReadableByAll(envFile) ? envFile : undefined,
    unknownSettings: listUnknown(given),
  })
}

/** Including those of vendors. */
export const listSettings = (): Setting<unknown>[] => [
  ...Object.values<Setting<unknown>>(SETTINGS),
  ...VENDOR_NAMES.flatMap((name) => Object.values<Setting<unknown>>(VENDORS[name].settings)),
]

const OTLP = SETTINGS.otlpEndpoint.env
/** The libraries read the headers of one signal from the environment themselves. */
const IGNORED_OTEL = /^OTEL_(?!.*_HEADERS$)/

function listUnknown(given: Environment): string[] {
  const known = new Set(listSettings().flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env])))
  const isOurs = (env: string) =>
    env.startsWith('TABBAT_') || (given[OTLP] !== undefined && IGNORED_OTEL.test(env))
  return Object.keys(given).filter((env) => isOurs(env) && !known.has(env))
}

/** Settings name commands, secrets and addresses, so nothing of a file is used that another user can change. */
function readEnvFile(path: string): Record<string, string | undefined> {
  const stats = findFile(path)
  if (!stats) return {}
  try {
    // Before it is opened: opening a pipe waits for its writer.
    refuseUntrustedStats(resolve(path), stats)
    refuseUntrustedPath(path)
    return withoutEmpty(parseEnv(readTrusted(path)))
  } catch (error) {
    if (error instanceof UntrustedPath) throw new ConfigError([error.message])
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    // Without its settings, the program would use another database.
    throw new ConfigError([
      code === 'EACCES'
        ? `This user (${process.getuid?.()}) may not read ${resolve(path)}. Run the program as the user of the server`
        : `${resolve(path)} cannot be read (${code}). Put a file there, or remove it`,
    ])
  }
}

/** Undefined if there is none, or if it is in a folder that this user may not enter, as after `sudo -u` in /root. */
function findFile(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

function readTrusted(path: string): string {
  const file = openSync(path, 'r')
  try {
    // The open file, so that the checked file is the one that is read.
    refuseUntrustedStats(resolve(path), fstatSync(file))
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

const withoutEmpty = (environment: Environment): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))
