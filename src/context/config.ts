import { ACCESS_SETTINGS, listSsoProblems } from '../accounts/settings.ts'
import { ARCHIVE_SETTINGS, AUDIT_SETTINGS } from '../audit/settings.ts'
import { BATCH_SETTINGS } from '../batches/settings.ts'
import { CATALOGUE_SETTINGS } from '../catalogue/settings.ts'
import { isReadableByAll } from '../crypto/secret-file.ts'
import { DATABASE_SETTINGS } from '../database/settings.ts'
import { ADDRESS_SETTINGS, LIMIT_SETTINGS, LISTENER_SETTINGS, ORIGIN_SETTINGS } from '../http/settings.ts'
import { KEY_SETTINGS } from '../keys/settings.ts'
import { listNoticeProblems, NOTICE_SETTINGS } from '../notices/settings.ts'
import { PEOPLE_SETTINGS } from '../people/settings.ts'
import { RECORD_SETTINGS, SCRUB_SETTINGS } from '../registry/settings.ts'
import { REQUEST_SETTINGS } from '../requests/settings.ts'
import { ConfigError, mergeGiven, readEnvFile, readEnvironment } from '../settings/environment.ts'
import { type Environment, listTlsProblems, readSettings } from '../settings/read-settings.ts'
import {
  command,
  duration,
  oneOf,
  orOff,
  rootKey,
  type Setting,
  setting,
  type ValuesOf,
  wholeNumber,
} from '../settings/setting.ts'
import { listUnknownNames, SOURCE_SETTINGS } from '../sources/settings.ts'
import { readVendors } from '../sources/vendor-reader.ts'
import {
  loadVendors,
  namesWith,
  SHIPPED_VENDORS,
  type Vendors,
  type VendorValues,
} from '../sources/vendors.ts'
import { STATISTICS_SETTINGS } from '../statistics/statistics-table.ts'
import { LOG_SETTINGS, listTelemetryProblems, TELEMETRY_SETTINGS } from '../telemetry/settings.ts'
import { PENDING_SETTINGS } from '../verification/settings.ts'
import { WEBHOOK_SETTINGS } from '../webhooks/settings.ts'
import { listShareProblems } from './worker-share.ts'

/** Where the root key comes from. */
const ROOT_KEY_SETTINGS = {
  rootKey: {
    ...setting(
      'TABBAT_ROOT_KEY',
      undefined,
      rootKey,
      'Root key: 32 bytes as base64 or hex. Unset: the file root.key in the data folder, which is created at the first start.',
      true,
    ),
    fileKind: 'root',
  },
  rootKeyPrevious: {
    ...setting(
      'TABBAT_ROOT_KEY_PREVIOUS',
      undefined,
      rootKey,
      'The previous root key, while TABBAT_ROOT_KEY is being rotated.',
      true,
    ),
    fileKind: 'root',
  },
  rootKeyCommand: setting(
    'TABBAT_ROOT_KEY_COMMAND',
    undefined,
    command,
    'Command that prints the root key, for example vault kv get -field=key secret/tabbat. It runs without a shell, for at most 10 seconds. Its words are separated by spaces; quotes keep spaces. It must not contain a secret. See docs/keys.md.',
  ),
} satisfies Record<string, Setting<unknown>>

/** The processes of a server. */
const PROCESS_SETTINGS = {
  workers: setting(
    'TABBAT_WORKERS',
    '1',
    wholeNumber(1, 64),
    'Processes that answer on the same port. Several are worth it with several cores and PostgreSQL. Limits hold for all of them together.',
  ),
  loopbackOnly: setting(
    'TABBAT_LOOPBACK_ONLY',
    'off',
    oneOf('on', 'off'),
    'on: the server connects to this machine only. Vendors, receivers of webhooks, collectors, providers and databases elsewhere cannot be reached. tabbat rehearse sets it for the servers that it starts: see docs/rehearsal.md.',
  ),
  shutdownDelay: setting(
    'TABBAT_SHUTDOWN_DELAY',
    '3s',
    orOff(duration({ least: '1s', most: '5m' })),
    'How long the server still answers after SIGTERM while /health/ready is 503, so that load balancers send requests elsewhere before it stops listening. off: it stops listening at once. Ctrl-C (SIGINT) never waits, and a second signal ends the wait.',
  ),
} satisfies Record<string, Setting<unknown>>

/** The settings of all features, in the order of docs/configuration.md. Those of the vendors are in sources/. */
export const SETTINGS = {
  ...ADDRESS_SETTINGS,
  ...DATABASE_SETTINGS,
  ...SCRUB_SETTINGS,
  ...SOURCE_SETTINGS,
  ...WEBHOOK_SETTINGS,
  ...NOTICE_SETTINGS,
  ...CATALOGUE_SETTINGS,
  ...STATISTICS_SETTINGS,
  ...AUDIT_SETTINGS,
  ...ORIGIN_SETTINGS,
  ...KEY_SETTINGS,
  ...LIMIT_SETTINGS,
  ...PROCESS_SETTINGS,
  ...PENDING_SETTINGS,
  ...ARCHIVE_SETTINGS,
  ...RECORD_SETTINGS,
  ...BATCH_SETTINGS,
  ...REQUEST_SETTINGS,
  ...PEOPLE_SETTINGS,
  ...LISTENER_SETTINGS,
  ...ACCESS_SETTINGS,
  ...LOG_SETTINGS,
  ...ROOT_KEY_SETTINGS,
  ...TELEMETRY_SETTINGS,
} satisfies Record<string, Setting<unknown>>

export type Config = ValuesOf<typeof SETTINGS> & {
  /** All settings as read at the start, including those of vendors. */
  readonly shownSettings: readonly ShownSetting[]
  /** The .env file, if it contains secrets and every user of the machine can read it. */
  readonly exposedEnvFile: string | undefined
  /** Variables that begin with TABBAT_, or with OTEL_ if it is in use, and are no settings: most often typing errors. */
  readonly unknownSettings: readonly string[]
  /** The settings of vendors in use: named in a list of sources, or with a required variable set. */
  readonly vendors: VendorValues
  /** All vendors, those of TABBAT_VENDORS_DIR included. */
  readonly knownVendors: Vendors
}

/** Reads the settings: the environment first, then `.env`, then the defaults. */
export function loadConfig(environment: Environment = readEnvironment(), envFile = '.env'): Config {
  const fromFile = readEnvFile(envFile)
  const given = mergeGiven(fromFile, environment)
  const problems: string[] = []
  const values = readSettings(SETTINGS, given, problems) as ValuesOf<typeof SETTINGS>
  const { ninSources = [], bvnSources = [], catalogueSources = [] } = values
  const wrongFiles: string[] = []
  const knownVendors = loadVendors(values.vendorsDir, wrongFiles)
  const offering = (ability: 'nin' | 'bvn' | 'catalogue') => namesWith(ability, knownVendors)
  problems.push(...wrongFiles)
  // The vendor of a wrong file is not unknown.
  if (wrongFiles.length === 0)
    problems.push(
      ...listUnknownNames(SETTINGS.ninSources, ninSources, ['registry', ...offering('nin')]),
      ...listUnknownNames(SETTINGS.bvnSources, bvnSources, ['registry', ...offering('bvn')]),
      ...listUnknownNames(SETTINGS.catalogueSources, catalogueSources, offering('catalogue')),
    )
  const named = new Set<string>([...ninSources, ...bvnSources, ...catalogueSources])
  const vendors = readVendors(knownVendors, named, given, values, problems)
  const { otlpHeaders, oidcClientSecret, noticesSmtp, noticesSlack, noticesTeams } = values
  const sent = [
    ...Object.keys(vendors),
    otlpHeaders,
    oidcClientSecret,
    noticesSmtp,
    noticesSlack,
    noticesTeams,
  ]
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
  problems.push(...listTelemetryProblems(given, values), ...listNoticeProblems(values))
  if (problems.length > 0) throw new ConfigError(problems)
  const all = listSettings(knownVendors)
  const hasSecrets = all.some(({ env, secret }) => secret && fromFile[env] !== undefined)
  return Object.freeze({
    ...values,
    vendors,
    knownVendors,
    shownSettings: all.map((entry) => toShownSetting(entry, given, environment)),
    exposedEnvFile: hasSecrets && isReadableByAll(envFile) ? envFile : undefined,
    unknownSettings: listUnknown(given, knownVendors),
  })
}

/** Including those of vendors. */
export const listSettings = (vendors: Vendors = SHIPPED_VENDORS): Setting<unknown>[] => [
  ...Object.values<Setting<unknown>>(SETTINGS),
  ...[...vendors.values()].flatMap(({ settings }) => Object.values<Setting<unknown>>(settings)),
]

const OTLP = SETTINGS.otlpEndpoint.env
/** The libraries read the headers of one signal from the environment themselves. */
const IGNORED_OTEL = /^OTEL_(?!.*_HEADERS$)/

/** The programs of callers read these: the examples, and those of the clients. On a laptop both have one environment. */
export const OF_CALLERS: readonly string[] = ['TABBAT_URL', 'TABBAT_KEY']

function listUnknown(given: Environment, vendors: Vendors): string[] {
  const known = new Set(
    listSettings(vendors).flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env])),
  )
  for (const env of OF_CALLERS) known.add(env)
  const isOurs = (env: string) =>
    env.startsWith('TABBAT_') || (given[OTLP] !== undefined && IGNORED_OTEL.test(env))
  return Object.keys(given).filter((env) => isOurs(env) && !known.has(env))
}

/** `file` is the file that the _FILE variable names. */
type SettingOrigin = 'default' | 'environment' | '.env' | 'file' | 'unset'

/** A setting for display, without the value of a secret. */
type ShownSetting = {
  readonly name: string
  readonly about: string
  readonly isSecret: boolean
  readonly value: string | undefined
  readonly origin: SettingOrigin
}

function toShownSetting(
  { env, help, secret = false, fallback }: Setting<unknown>,
  given: Environment,
  environment: Environment,
): ShownSetting {
  const text = given[env]
  const shown = { name: env, about: help, isSecret: secret, value: secret ? undefined : (text ?? fallback) }
  // An empty variable is not set.
  if (text !== undefined) return { ...shown, origin: environment[env] ? 'environment' : '.env' }
  if (secret && given[`${env}_FILE`] !== undefined) return { ...shown, origin: 'file' }
  return { ...shown, origin: fallback === undefined ? 'unset' : 'default' }
}
