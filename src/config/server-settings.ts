import {
  command,
  databaseUrl,
  duration,
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
import { ACCESS_SETTINGS } from './access-settings.ts'
import { BATCH_SETTINGS } from './batch-settings.ts'
import { LISTENER_SETTINGS } from './listener-settings.ts'
import { PENDING_SETTINGS } from './pending-settings.ts'
import { PEOPLE_SETTINGS } from './people-settings.ts'
import { REQUEST_SETTINGS } from './request-settings.ts'
import { RETENTION_SETTINGS } from './retention-settings.ts'
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts'
import { WITNESS_SETTINGS } from './witness-settings.ts'

export type SourceName = 'registry' | VendorName

/** A list of known names without duplicates. */
const namesOf =
  <Name extends string>(what: string, known: readonly Name[]) =>
  (text: string): Name[] => {
    const names = text.split(',').map((part) => part.trim().toLowerCase()) as Name[]
    if (names.every((name) => known.includes(name)) && new Set(names).size === names.length) return names
    throw new InvalidSetting(
      `must be ${what} separated by commas, each at most once, out of: ${known.join(', ')}`,
    )
  }

const sourceNames = (ability: 'nin' | 'bvn') =>
  namesOf<SourceName>('sources', ['registry', ...namesWith(ability)])

/** The settings of the server. Those of the vendors are in sources/. */
export const SETTINGS = {
  host: setting('TABBAT_HOST', '127.0.0.1', plain, 'Address to listen on.'),
  port: setting('TABBAT_PORT', '8080', port, 'Port to listen on; 0 picks a free one.'),
  dataDir: setting(
    'TABBAT_DATA_DIR',
    './data',
    plain,
    'Folder of the SQLite database and of the root key file.',
  ),
  databaseUrl: setting(
    'TABBAT_DATABASE_URL',
    undefined,
    databaseUrl,
    'PostgreSQL database, as postgres://user:password@host:5432/database. Several hosts are separated by commas, with target_session_attrs=read-write to use the one that is the primary. Unset: SQLite in the data folder.',
    true,
  ),
  databaseConnections: setting(
    'TABBAT_DATABASE_CONNECTIONS',
    '8',
    wholeNumber(2, 1000),
    'Most connections of one process to PostgreSQL. Verifications share statements, so a few serve many. One is for heartbeats. All nodes and workers together must stay below the limit of the server.',
  ),
  storeTimeout: setting(
    'TABBAT_STORE_TIMEOUT',
    '5s',
    duration({ least: '1s', most: '1m' }),
    'Longest time a request may wait for the database, including locks. After it the answer is 503. Commands and imports may wait longer.',
  ),
  scrub: setting(
    'TABBAT_SCRUB',
    '24h',
    orOff(duration({ least: '1s', most: '24d' })),
    'Pause between two searches for damage in the database. A search takes about 2 % of one processor: see docs/reliability.md. off: damage is found only when a damaged row is read.',
  ),
  ninSources: setting(
    'TABBAT_NIN_SOURCES',
    'registry',
    sourceNames('nin'),
    `Sources of NIN records for live keys, called in this order. registry is your own records. Vendors: ${namesWith('nin').join(', ')}. See docs/sources.md.`,
  ),
  bvnSources: setting(
    'TABBAT_BVN_SOURCES',
    'registry',
    sourceNames('bvn'),
    `Sources of BVN records for live keys, called in this order. registry is your own records. Vendors: ${namesWith('bvn').join(', ')}.`,
  ),
  notFound: setting(
    'TABBAT_NOT_FOUND',
    'stop',
    oneOf('stop', 'next'),
    'What follows when a source has no record, or one with another phone. stop: the search ends. next: the next source is called, for a first source that is incomplete.',
  ),
  reuse: setting(
    'TABBAT_REUSE',
    'off',
    orOff(duration({ most: '30d' })),
    'How long a verified result of a vendor is stored (sealed) and reused, for example 24h, at most 30d. off: every verification calls a source.',
  ),
  paidCalls: setting(
    'TABBAT_PAID_CALLS',
    '2',
    wholeNumber(1, 100),
    'Paid calls that one Idempotency-Key may cause in 24 hours, over all nodes, retries and crashes. After that only free sources are called, and the last failure is returned. A single request never makes more than two. A pending verification has the same budget for all its attempts.',
  ),
  sourcesPrivate: setting(
    'TABBAT_SOURCES_PRIVATE',
    'off',
    oneOf('on', 'off'),
    'Whether vendors may have private IP addresses. Loopback is always allowed.',
  ),
  sourcesPlainHttp: setting(
    'TABBAT_SOURCES_PLAIN_HTTP',
    'off',
    oneOf('on', 'off'),
    'Whether vendors may be called over plain http, which others on the network can read. Loopback is always allowed. With on, the server prints a warning at the start.',
  ),
  webhooksPrivate: setting(
    'TABBAT_WEBHOOKS_PRIVATE',
    'off',
    oneOf('on', 'off'),
    'Whether webhooks may go to private, loopback and link-local addresses, and over plain http. See docs/webhooks.md.',
  ),
  webhooksLog: setting(
    'TABBAT_WEBHOOKS_LOG',
    '30d',
    duration({ least: '1h', most: '400d' }),
    'How long finished deliveries of webhooks stay in their log.',
  ),
  spendAlert: setting(
    'TABBAT_SPEND_ALERT',
    '80',
    orOff(wholeNumber(1, 100)),
    'Share of the daily cap of a vendor, in percent, from which the event spend.near_cap is sent, once a day. off: never.',
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
    'How often the lists of TABBAT_CATALOGUE_SOURCES are fetched, for example 6h, at least 1m.',
  ),
  statisticsKeep: setting(
    'TABBAT_STATISTICS_KEEP',
    '800d',
    duration({ least: '62d', most: '36500d' }),
    'How long daily statistics are kept, for the overview and the usage of keys. The audit log is not affected.',
  ),
  lostRows: setting(
    'TABBAT_LOST_ROWS',
    'refuse',
    oneOf('refuse', 'record'),
    'What follows when PostgreSQL no longer has audit rows that callers were answered on, as after a failover to an asynchronous standby. refuse: verifications get 503 until an operator runs tabbat audit accept-loss. record: the server writes the statement of the loss itself and continues.',
  ),
  checkpointDir: setting(
    'TABBAT_CHECKPOINT_DIR',
    undefined,
    plain,
    'Folder of checkpoints.log, the signed checkpoints of the audit log. Choose one that an attacker with access to the database cannot change. Unset: the data folder.',
  ),
  publicUrl: setting(
    'TABBAT_PUBLIC_URL',
    undefined,
    origin,
    'Public URL of this server, used in picture links, /openapi.json and /docs. Unset: the address of the request, with https if TABBAT_TLS_CERT is set or a proxy in TABBAT_TRUST_PROXY says so (X-Forwarded-Proto).',
  ),
  sandbox: setting(
    'TABBAT_SANDBOX',
    undefined,
    oneOf('on', 'off'),
    'Whether test keys work. off: they are refused. on: they work, and so does the public sandbox key. Unset: they work, and the public sandbox key works while the server listens on loopback.',
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
    'Concurrent requests. Further requests wait up to 30 ms, then get 503 overloaded.',
  ),
  maxInFlightPerKey: setting(
    'TABBAT_MAX_IN_FLIGHT_PER_KEY',
    undefined,
    wholeNumber(1, 1_000_000),
    'Concurrent requests of one key, on all nodes together. Unset: four fifths of TABBAT_MAX_IN_FLIGHT, so that one busy key leaves room for others.',
  ),
  maxStrangersPerAddress: setting(
    'TABBAT_MAX_STRANGERS_PER_ADDRESS',
    '100',
    wholeNumber(1, 1_000_000),
    'Connections of one address that have not sent a valid key. A further connection closes the oldest of them that is idle and older than three seconds. Addresses in TABBAT_TRUST_PROXY are exempt.',
  ),
  workers: setting(
    'TABBAT_WORKERS',
    '1',
    wholeNumber(1, 64),
    'Processes that answer on the same port. Several are worth it with several cores and PostgreSQL. Limits hold for all of them together.',
  ),
  shutdownDelay: setting(
    'TABBAT_SHUTDOWN_DELAY',
    '3s',
    orOff(duration({ least: '1s', most: '5m' })),
    'How long the server still answers after SIGTERM while /health/ready is 503, so that load balancers send requests elsewhere before it stops listening. off: it stops listening at once. Ctrl-C (SIGINT) never waits, and a second signal ends the wait.',
  ),
  ...PENDING_SETTINGS,
  ...RETENTION_SETTINGS,
  ...BATCH_SETTINGS,
  ...REQUEST_SETTINGS,
  ...PEOPLE_SETTINGS,
  ...WITNESS_SETTINGS,
  ...LISTENER_SETTINGS,
  ...ACCESS_SETTINGS,
  logLevel: setting(
    'TABBAT_LOG_LEVEL',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'Lowest level that is logged, as JSON lines.',
  ),
  logFile: setting(
    'TABBAT_LOG_FILE',
    undefined,
    plain,
    'File to which the log is appended. SIGHUP opens it again, after a rotation. Unset: standard error.',
  ),
  rootKey: setting(
    'TABBAT_ROOT_KEY',
    undefined,
    rootKey,
    'Root key: 32 bytes as base64 or hex. Unset: the file root.key in the data folder, which is created at the first start.',
    true,
  ),
  rootKeyPrevious: setting(
    'TABBAT_ROOT_KEY_PREVIOUS',
    undefined,
    rootKey,
    'The previous root key, while TABBAT_ROOT_KEY is being rotated.',
    true,
  ),
  rootKeyCommand: setting(
    'TABBAT_ROOT_KEY_COMMAND',
    undefined,
    command,
    'Command that prints the root key, for example vault kv get -field=key secret/tabbat. It runs without a shell, for at most 10 seconds. Its words are separated by spaces; quotes keep spaces. It must not contain a secret. See docs/keys.md.',
  ),
  ...TELEMETRY_SETTINGS,
} satisfies Record<string, Setting<unknown>>
