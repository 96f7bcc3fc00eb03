import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'

/** A value that does not fit. Its text completes the sentence "TABBAT_… ". */
class Misfit extends Error {}

type Setting<T> = {
  readonly env: string
  readonly help: string
  /** As it would be written in the environment; undefined when absent means something. */
  readonly fallback?: string
  readonly secret?: boolean
  readonly read: (text: string) => T
}

const setting = <T, F extends string | undefined>(
  env: string,
  fallback: F,
  read: (text: string) => T,
  help: string,
  secret = false,
): Setting<F extends string ? T : T | undefined> =>
  ({ env, help, read, secret, ...(fallback === undefined ? {} : { fallback }) }) as Setting<
    F extends string ? T : T | undefined
  >

const wholeNumber = (least: number, most: number) => (text: string) => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new Misfit(`must be a whole number from ${least} to ${most}`)
}

const port = (text: string) => {
  if (text.startsWith('tcp://'))
    throw new Misfit(
      'was set by Kubernetes service links (tcp://…): set enableServiceLinks: false, or rename the service',
    )
  return wholeNumber(0, 65535)(text)
}

const orOff =
  <T>(read: (text: string) => T) =>
  (text: string): T | 'off' =>
    text.toLowerCase() === 'off' ? 'off' : read(text)

const oneOf =
  <T extends string>(...choices: readonly T[]) =>
  (text: string): T => {
    const found = choices.find((choice) => choice === text.toLowerCase())
    if (found !== undefined) return found
    throw new Misfit(`must be one of ${choices.join(', ')}`)
  }

const plain = (text: string) => text

const origin = (text: string) => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol) || new URL(text).pathname !== '/')
    throw new Misfit('must be an address such as https://verify.example.com, without a path')
  return new URL(text).origin
}

export const SOURCE_NAMES = ['registry'] as const
export type SourceName = (typeof SOURCE_NAMES)[number]

const sourceNames = (text: string) => {
  const names = text.split(',').map((part) => part.trim().toLowerCase())
  if (
    names.every((name) => SOURCE_NAMES.includes(name as SourceName)) &&
    new Set(names).size === names.length
  )
    return names as SourceName[]
  throw new Misfit(`must name sources, each once, separated by commas: ${SOURCE_NAMES.join(', ')}`)
}

const databaseUrl = (text: string) => {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text))
    throw new Misfit('must be an address such as postgres://user:password@host:5432/database')
  return text
}

const addresses = (text: string) => {
  const list = text.split(',').map((part) => part.trim())
  if (list.every(isAddressOrNetwork)) return list
  throw new Misfit('must be addresses or networks separated by commas, such as 10.0.0.1,10.1.0.0/16')
}

export function isAddressOrNetwork(text: string): boolean {
  const [address = '', bits] = text.split('/')
  const family = isIP(address)
  if (family === 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const rootKey = (text: string) => {
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
  if (bytes.length === 32) return text
  throw new Misfit('must hold 32 bytes as base64 or hex. Make one with: openssl rand -base64 32')
}

const SETTINGS = {
  host: setting('TABBAT_HOST', '127.0.0.1', plain, 'Address to listen on.'),
  port: setting('TABBAT_PORT', '8080', port, 'Port to listen on; 0 picks a free one.'),
  dataDir: setting('TABBAT_DATA_DIR', './data', plain, 'Folder of the database and of the root key file.'),
  databaseUrl: setting(
    'TABBAT_DATABASE_URL',
    undefined,
    databaseUrl,
    'PostgreSQL to keep the data in, as postgres://user:password@host:5432/database. Without it: SQLite in the data folder.',
    true,
  ),
  ninSources: setting(
    'TABBAT_NIN_SOURCES',
    'registry',
    sourceNames,
    'Where NINs are looked up for live keys, in the order of asking: registry (your own records).',
  ),
  bvnSources: setting(
    'TABBAT_BVN_SOURCES',
    'registry',
    sourceNames,
    'Where BVNs are looked up for live keys, in the order of asking: registry (your own records).',
  ),
  checkpointDir: setting(
    'TABBAT_CHECKPOINT_DIR',
    undefined,
    plain,
    'Folder of checkpoints.log, the signed statements of where the audit log stands. Put it where whoever can change the database cannot. Without it: the data folder.',
  ),
  publicUrl: setting(
    'TABBAT_PUBLIC_URL',
    undefined,
    origin,
    'Address under which callers reach this server, used in picture links. Without it, links use the address the caller used (with http).',
  ),
  sandbox: setting(
    'TABBAT_SANDBOX',
    undefined,
    oneOf('on', 'off'),
    'off: test keys are refused. on: test keys work, and so does the public sandbox key. Unset: test keys work, and the public sandbox key works while the server listens on loopback.',
  ),
  rateLimit: setting(
    'TABBAT_RATE_LIMIT',
    '3000',
    orOff(wholeNumber(1, 10_000_000)),
    'Requests per minute and key, or off.',
  ),
  maxInFlight: setting(
    'TABBAT_MAX_IN_FLIGHT',
    '1000',
    wholeNumber(1, 1_000_000),
    'Requests under way at once; those above are answered 503 overloaded.',
  ),
  trustProxy: setting(
    'TABBAT_TRUST_PROXY',
    undefined,
    addresses,
    'Addresses of the proxies whose X-Forwarded-For is believed, for keys bound to addresses.',
  ),
  adminHost: setting('TABBAT_ADMIN_HOST', '127.0.0.1', plain, 'Address of the admin listener (metrics).'),
  adminPort: setting('TABBAT_ADMIN_PORT', '8081', orOff(port), 'Port of the admin listener, or off.'),
  logLevel: setting(
    'TABBAT_LOG_LEVEL',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'How much is logged (JSON lines on standard error).',
  ),
  rootKey: setting(
    'TABBAT_ROOT_KEY',
    undefined,
    rootKey,
    'The root secret: 32 bytes as base64 or hex. Without it, a file root.key is made in the data folder on the first run.',
    true,
  ),
  rootKeyPrevious: setting(
    'TABBAT_ROOT_KEY_PREVIOUS',
    undefined,
    rootKey,
    'While TABBAT_ROOT_KEY is being rotated: the one before it.',
    true,
  ),
} satisfies Record<string, Setting<unknown>>

type Settings = typeof SETTINGS
export type Config = { readonly [Name in keyof Settings]: ReturnType<Settings[Name]['read']> }

/** All problems of the settings at once, each a sentence that says what to do. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings: the environment first, then `.env`, then the defaults. */
export function loadConfig(environment: Environment = process.env, envFile = '.env'): Config {
  const given = { ...readEnvFile(envFile), ...withoutEmpty(environment) }
  const problems: string[] = []
  const entries = Object.entries<Setting<unknown>>(SETTINGS).map(([name, entry]) => [
    name,
    readSetting(entry, given, problems),
  ])
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze(Object.fromEntries(entries)) as Config
}

/** Variables that look like ours and are not: most often a slip of the pen. */
export function listUnknownSettings(environment: Environment = process.env, envFile = '.env'): string[] {
  const known = new Set(
    Object.values(SETTINGS).flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env])),
  )
  const given = { ...readEnvFile(envFile), ...withoutEmpty(environment) }
  return Object.keys(given).filter((env) => env.startsWith('TABBAT_') && !known.has(env))
}

export const isLoopback = (host: string) => host === 'localhost' || host === '::1' || /^127\./.test(host)

function readSetting(entry: Setting<unknown>, given: Environment, problems: string[]): unknown {
  try {
    const text = given[entry.env] ?? readSecretFile(entry, given) ?? entry.fallback
    return text === undefined ? undefined : entry.read(text.trim())
  } catch (error) {
    if (!(error instanceof Misfit)) throw error
    problems.push(`${entry.env} ${error.message}`)
    return undefined
  }
}

function readSecretFile(entry: Setting<unknown>, given: Environment): string | undefined {
  const path = entry.secret ? given[`${entry.env}_FILE`] : undefined
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    throw new Misfit(
      'cannot be read from the file named by its _FILE variable: check the path and its permissions',
    )
  }
}

function readEnvFile(path: string): Record<string, string | undefined> {
  try {
    return withoutEmpty(parseEnv(readFileSync(path, 'utf8')))
  } catch {
    return {}
  }
}

const withoutEmpty = (environment: Environment): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))

/** The settings as docs/configuration.md shows them. */
export function toConfigurationPage(): string {
  const rows = Object.values<Setting<unknown>>(SETTINGS).map(({ env, fallback, help, secret }) => {
    const name = secret ? `\`${env}\` or \`${env}_FILE\`` : `\`${env}\``
    return `| ${name} | ${fallback === undefined ? '' : `\`${fallback}\``} | ${help} |`
  })
  return [
    '# Configuration',
    '',
    'Generated by `npm run generate` from `src/config.ts`; do not edit.',
    '',
    'Tabbat is configured by environment variables, or by a file `.env` in the folder it is started from; the',
    'environment wins. With none set it runs: SQLite in `./data`, the sandbox on, `http://127.0.0.1:8080`. Every',
    'problem is reported at once at the start. A secret can also be given as a file, by the variable with `_FILE`.',
    '',
    '| variable | default | meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

/** The settings as .env.example shows them: every one, commented out, at its default. */
export function toEnvExample(): string {
  const blocks = Object.values<Setting<unknown>>(SETTINGS).map(
    ({ env, fallback, help }) => `# ${help}\n#${env}=${fallback ?? ''}\n`,
  )
  return `# Generated by \`npm run generate\` from src/config.ts; do not edit. Copy to .env and uncomment.\n\n${blocks.join('\n')}`
}
