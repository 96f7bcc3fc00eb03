import {
  addresses,
  credential,
  databaseUrl,
  duration,
  hostNames,
  InvalidSetting,
  oneOf,
  origin,
  orOff,
  plain,
  port,
  rootKey,
  type Setting,
  setting,
  wholeNumber,
} from '../settings/setting.ts'
import { namesWith, type VendorName } from '../sources/vendors.ts'

export type SourceName = 'registry' | VendorName

/** Names out of these, each once. */
const namesOf =
  <Name extends string>(what: string, known: readonly Name[]) =>
  (text: string): Name[] => {
    const names = text.split(',').map((part) => part.trim().toLowerCase()) as Name[]
    if (names.every((name) => known.includes(name)) && new Set(names).size === names.length) return names
    throw new InvalidSetting(`must name ${what}, each once, separated by commas: ${known.join(', ')}`)
  }

/** Where live questions may go, by what is asked for. */
const sourceNames = (ability: 'nin' | 'bvn') =>
  namesOf<SourceName>('sources', ['registry', ...namesWith(ability)])

/** The settings of the server. Those of the vendors are in sources/. */
export const SETTINGS = {
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
  storeTimeout: setting(
    'TABBAT_STORE_TIMEOUT',
    '5s',
    duration({ least: '1s', most: '1m' }),
    'How long a request may wait for the database, locks included; then it is answered 503. Commands and imports may take longer.',
  ),
  scrub: setting(
    'TABBAT_SCRUB',
    '24h',
    orOff(duration({ least: '1s', most: '24d' })),
    'How long after the end of one search for damage in the database the next begins. It takes about 2 % of one processor: see docs/reliability.md. off: damage is found when it is met.',
  ),
  ninSources: setting(
    'TABBAT_NIN_SOURCES',
    'registry',
    sourceNames('nin'),
    `Where NINs are looked up for live keys, in the order of asking. registry is your own records; the others are vendors: ${namesWith('nin').join(', ')}. See docs/sources.md.`,
  ),
  bvnSources: setting(
    'TABBAT_BVN_SOURCES',
    'registry',
    sourceNames('bvn'),
    'Where BVNs are looked up for live keys, in the order of asking, likewise.',
  ),
  notFound: setting(
    'TABBAT_NOT_FOUND',
    'stop',
    oneOf('stop', 'next'),
    'stop: a source that has no record (or one with another phone) ends the search. next: the next source is asked, for when the first is incomplete.',
  ),
  reuse: setting(
    'TABBAT_REUSE',
    'off',
    orOff(duration({ most: '30d' })),
    'How long a verified result of a vendor may be used again, sealed in the database, for example 24h; at most 30d. off: every verification asks anew.',
  ),
  paidCalls: setting(
    'TABBAT_PAID_CALLS',
    '2',
    wholeNumber(1, 100),
    'Paid calls that one Idempotency-Key may cause in 24 hours, over all nodes, retries and crashes. After that the last failure is answered, and only free sources are asked. A single request never makes more than two.',
  ),
  sourcesPrivate: setting(
    'TABBAT_SOURCES_PRIVATE',
    'off',
    oneOf('on', 'off'),
    'on: sources may be at private addresses. Loopback always may.',
  ),
  sourcesPlainHttp: setting(
    'TABBAT_SOURCES_PLAIN_HTTP',
    'off',
    oneOf('on', 'off'),
    'on: sources may be asked over plain http, where numbers and credentials can be read on the way. Loopback always may. The server warns at the start.',
  ),
  catalogueSources: setting(
    'TABBAT_CATALOGUE_SOURCES',
    undefined,
    namesOf('vendors', namesWith('catalogue')),
    `Vendors whose lists are fetched on the schedule of TABBAT_CATALOGUE_SYNC: ${namesWith('catalogue').join(', ')}.`,
  ),
  catalogueSync: setting(
    'TABBAT_CATALOGUE_SYNC',
    'off',
    orOff(duration({ least: '1m' })),
    'How often the lists of TABBAT_CATALOGUE_SOURCES are fetched, for example 6h; at least 1m.',
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
    'Address under which callers reach this server, used in picture links, /openapi.json and /docs. Without it, they use the address that the caller used: https only if a proxy in TABBAT_TRUST_PROXY says so (X-Forwarded-Proto), else http.',
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
    'Requests under way at once. Those above wait a moment for a place and are answered 503 overloaded then.',
  ),
  maxInFlightPerKey: setting(
    'TABBAT_MAX_IN_FLIGHT_PER_KEY',
    undefined,
    wholeNumber(1, 1_000_000),
    'Requests under way at once with one key, likewise. Unset: four fifths of TABBAT_MAX_IN_FLIGHT, so that one busy key leaves room for others.',
  ),
  maxStrangersPerAddress: setting(
    'TABBAT_MAX_STRANGERS_PER_ADDRESS',
    '100',
    wholeNumber(1, 1_000_000),
    'Connections of one address on which no valid key was shown; those above close the oldest of them that is idle and older than three seconds. Addresses in TABBAT_TRUST_PROXY are exempt.',
  ),
  workers: setting(
    'TABBAT_WORKERS',
    '1',
    wholeNumber(1, 64),
    'Processes that answer, on the same port. More than one pays off with several cores and PostgreSQL. Limits hold for all of them together.',
  ),
  trustProxy: setting(
    'TABBAT_TRUST_PROXY',
    undefined,
    addresses,
    'Addresses of the proxies whose X-Forwarded-For is believed, for keys bound to addresses.',
  ),
  adminHost: setting(
    'TABBAT_ADMIN_HOST',
    '127.0.0.1',
    plain,
    'Address of the admin listener (console, metrics). Keep it on loopback, or put TLS in front: see docs/console.md.',
  ),
  adminNames: setting(
    'TABBAT_ADMIN_NAMES',
    undefined,
    hostNames,
    'Host names under which the admin listener is reached, besides localhost and the address of the listener, separated by commas, for example console.example.com. Requests with another Host are refused.',
  ),
  metricsToken: setting(
    'TABBAT_METRICS_TOKEN',
    undefined,
    credential,
    'Token that /metrics asks for, as Authorization: Bearer <token>. Without it, everything that reaches the admin listener may read the metrics.',
    true,
  ),
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
