import {
  databaseUrl,
  duration,
  oneOf,
  origin,
  orOff,
  plain,
  port,
  type Setting,
  setting,
  wholeNumber,
} from '../settings/setting.ts'
import { ACCESS_SETTINGS } from './access-settings.ts'
import { BATCH_SETTINGS } from './batch-settings.ts'
import { LISTENER_SETTINGS } from './listener-settings.ts'
import { PENDING_SETTINGS } from './pending-settings.ts'
import { PEOPLE_SETTINGS } from './people-settings.ts'
import { REQUEST_SETTINGS } from './request-settings.ts'
import { RETENTION_SETTINGS } from './retention-settings.ts'
import { ROOT_KEY_SETTINGS } from './root-key-settings.ts'
import { CATALOGUE_SETTINGS, SOURCE_SETTINGS } from './source-settings.ts'
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts'
import { WEBHOOK_SETTINGS } from './webhook-settings.ts'

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
    'Longest time one step of a request may wait for the database, including locks. After it the answer is 503. Commands and imports may wait longer.',
  ),
  scrub: setting(
    'TABBAT_SCRUB',
    '24h',
    orOff(duration({ least: '1s', most: '24d' })),
    'Pause between two searches for damage in the database. A search takes about 2 % of one processor: see docs/reliability.md. off: damage is found only when a damaged row is read.',
  ),
  ...SOURCE_SETTINGS,
  ...WEBHOOK_SETTINGS,
  ...CATALOGUE_SETTINGS,
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
    'Concurrent requests that the server works on. Further requests wait up to 30 ms, then get 503 overloaded. Requests that only wait count against TABBAT_MAX_WAITING instead.',
  ),
  maxWaiting: setting(
    'TABBAT_MAX_WAITING',
    '10000',
    wholeNumber(1, 1_000_000),
    'Requests that may wait for a vendor, for the answer of a pending verification (Prefer: wait) or for the body of a batch. One key may have as many as are free: half of them if no other key waits. Further requests get 503 overloaded, or 202 pending if they prefer that.',
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
    'Connections of one address that have not sent a valid key. A further connection closes the oldest of them that is older than three seconds and is idle or does not read its responses. Addresses in TABBAT_TRUST_PROXY are exempt.',
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
  ...ROOT_KEY_SETTINGS,
  ...TELEMETRY_SETTINGS,
} satisfies Record<string, Setting<unknown>>
