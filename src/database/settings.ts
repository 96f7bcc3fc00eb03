import {
  databaseUrl,
  duration,
  plain,
  type Setting,
  setting,
  type ValuesOf,
  wholeNumber,
} from '../settings/setting.ts'

/** Where the data is, and how long it is waited for. */
export const DATABASE_SETTINGS = {
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
    'Longest time a request of the API may wait for the database in all, including locks. After it the answer is 503. Time that vendors take does not count. The console, commands and imports may wait longer.',
  ),
} satisfies Record<string, Setting<unknown>>

export type DatabaseSettings = ValuesOf<typeof DATABASE_SETTINGS>
