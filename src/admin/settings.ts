import type { ArchiveStatement } from '../audit/archive/archive-format.ts'
import type { ArchiveRow } from '../audit/archive-table.ts'
import type { Context } from '../context/context.ts'
import { readNodeReports } from '../context/nodes.ts'
import { readStorage, type StorageReport } from '../context/storage-report.ts'
import { listWarnings } from '../context/warnings.ts'
import { type Static, Type } from '../contract/schema.ts'
import { DAY_MS, toIsoTime } from '../contract/time.ts'
import type { Meta } from '../database/meta-table.ts'
import { toDiskStatus } from '../health/local-checks.ts'
import { endOf, toMonth } from '../ledger/audit-months.ts'
import { VERSION } from '../version.ts'
import type { AdminDeps } from './admin-deps.ts'
import { Time } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'

const Setting = Type.Object({
  name: Type.String(),
  about: Type.String(),
  is_secret: Type.Boolean(),
  /** Null for a secret or an unset setting. */
  value: Type.Nullable(Type.String()),
  /** default, environment, .env, file (of a _FILE variable), unset. */
  origin: Type.Enum(['default', 'environment', '.env', 'file', 'unset'] as const),
})
export const SettingsView = Type.Object({
  version: Type.String(),
  node_version: Type.String(),
  started_at: Time,
  /** The database: a path or a PostgreSQL host. */
  database: Type.String(),
  settings: Type.Array(Setting),
  health: Type.Object({ ready: Type.Boolean(), audit: Type.Boolean(), workers: Type.Integer() }),
  root_key: Type.Object({
    version: Type.Integer(),
    /** file (beside the data), environment or key file. */
    origin: Type.String(),
    rotation_in_progress: Type.Boolean(),
  }),
  checkpoints: Type.Object({ last_at: Type.Nullable(Time), folder: Type.String() }),
  warnings: Type.Array(Type.String()),
})
export type SettingsView = Static<typeof SettingsView>

const view = defineRoute({
  name: 'view_settings',
  tag: 'Settings',
  method: 'GET',
  path: '/admin/settings',
  summary: 'Settings with their origin, and the state of the server. Contains no secrets.',
  role: 'viewer',
  output: SettingsView,
  run: async ({ context }) => {
    const { config, store, audit, lifecycle } = context
    const isWritable = await audit.check()
    return {
      version: VERSION,
      node_version: process.version,
      started_at: new Date(Date.now() - process.uptime() * 1000).toISOString(),
      database: store.place,
      settings: config.shownSettings.map(({ name, about, isSecret, value = null, origin }) => ({
        name,
        about,
        is_secret: isSecret,
        value: value && withoutLogin(value),
        origin,
      })),
      health: { ready: isWritable && !lifecycle.stopping, audit: isWritable, workers: config.workers },
      root_key: {
        version: context.keyring().version,
        origin: toRootKeyOrigin(context),
        rotation_in_progress: (await store.meta.read()).root_previous_fingerprint !== undefined,
      },
      checkpoints: {
        last_at: (await store.audit.lastCheckpoint())?.time ?? null,
        folder: config.checkpointDir ?? config.dataDir,
      },
      warnings: listWarnings(context),
    }
  },
})

/** Removes user name and password from URLs. */
const withoutLogin = (text: string) => text.replaceAll(/\/\/[^/\s]*@/g, '//')

function toRootKeyOrigin({ rootKeys, config }: Context): string {
  if (rootKeys.origin !== 'setting') return rootKeys.origin
  const { origin } = config.shownSettings.find(({ name }) => name === 'TABBAT_ROOT_KEY') ?? {}
  return origin === 'file' ? 'key file' : (origin ?? 'environment')
}

const NodeView = Type.Object({
  /** The name in the data folder of the node. */
  node: Type.String(),
  worker: Type.Integer(),
  /** Host, process id, and a random suffix. */
  process: Type.String(),
  version: Type.String(),
  alive: Type.Boolean(),
  started_at: Time,
  seen_at: Time,
  uptime_s: Type.Integer(),
  in_flight: Type.Integer(),
  requests_per_s: Type.Integer(),
  /** How old is what the process has learnt from the database: catalogue and kill switches. */
  lag_ms: Type.Integer(),
})
export const NodesView = Type.Object({ nodes: Type.Array(NodeView) })
export type NodesView = Static<typeof NodesView>

const listNodes = defineRoute({
  name: 'list_nodes',
  tag: 'Settings',
  method: 'GET',
  path: '/admin/nodes',
  summary:
    'The server processes of this database: version, uptime, load, and the age of what they have learnt.',
  role: 'viewer',
  output: NodesView,
  run: async ({ context }) => ({ nodes: await readNodeReports(context.store.nodes) }),
})

const Bytes = Type.Integer({ description: 'Bytes.' })

const ArchiveView = Type.Object({
  number: Type.Integer(),
  rows: Type.Integer(),
  /** Every row is earlier. */
  before: Time,
  archived_at: Time,
  by: Type.String(),
  /** Whether its rows are removed from the database. */
  removed: Type.Boolean(),
})
type ArchiveView = Static<typeof ArchiveView>

export const StorageView = Type.Object({
  database: Type.Enum(['sqlite', 'postgres'] as const),
  total_bytes: Bytes,
  /** Free bytes inside the file of SQLite, which are used again. */
  free_inside_bytes: Bytes,
  /** In PostgreSQL. SQLite tells only the size of the whole database. */
  tables: Type.Array(Type.Object({ table: Type.String(), bytes: Bytes })),
  audit_rows: Type.Integer(),
  archives: Type.Array(ArchiveView),
  history: Type.Array(Type.Object({ day: Type.String({ format: 'date' }), bytes: Bytes })),
  bytes_per_day: Type.Nullable(Type.Integer()),
  disk: Type.Nullable(
    Type.Object({
      free_bytes: Bytes,
      size_bytes: Bytes,
      /** As tabbat doctor says: failed below 200 MB, warning below 2 GB. */
      status: Type.Enum(['ok', 'warning', 'failed'] as const),
    }),
  ),
  days_left: Type.Nullable(Type.Integer()),
  /** The last one of tabbat backup. Null: none was made. */
  backup: Type.Nullable(Type.Object({ at: Time, bytes: Type.Nullable(Bytes) })),
  /** The last tabbat backup check that could be noted, and of when its backup is; null if the file could not be read. */
  backup_check: Type.Nullable(
    Type.Object({ at: Time, is_good: Type.Boolean(), backup_of: Type.Nullable(Time) }),
  ),
  /** When this server next deletes or archives what is older than the settings allow. */
  next_cleanup_at: Time,
  /** Rows before `before` are archived by the first run after `from`. Null: TABBAT_AUDIT_KEEP is off. */
  next_archive: Type.Nullable(Type.Object({ before: Time, from: Time })),
  /** The settings that say how long data is kept. */
  keep: Type.Array(Type.Object({ setting: Type.String(), value: Type.String() })),
})
export type StorageView = Static<typeof StorageView>

const viewStorage = defineRoute({
  name: 'read_storage',
  tag: 'Settings',
  method: 'GET',
  path: '/admin/storage',
  summary: 'How large the database is, how fast it grows, when its disk is full, and how long data is kept.',
  role: 'viewer',
  output: StorageView,
  run: async ({ context }) => {
    const { store, config } = context
    const report = await readStorage(store, config, Date.now())
    const archives = await store.archives.list()
    return {
      ...toView(report, archives, config),
      ...toBackups(await store.meta.read()),
      next_cleanup_at: toIsoTime(context.nextCleanupAt()),
      next_archive: toNextArchive(config, Date.now()),
    }
  },
})

function toBackups(meta: Meta): Pick<StorageView, 'backup' | 'backup_check'> {
  const { last_backup_at: at, last_backup_bytes: bytes, last_backup_check_at: checkedAt } = meta
  return {
    backup: at === undefined ? null : { at, bytes: bytes === undefined ? null : Number(bytes) },
    backup_check:
      checkedAt === undefined
        ? null
        : {
            at: checkedAt,
            is_good: meta.last_backup_check_result === 'good',
            backup_of: meta.last_backup_check_of ?? null,
          },
  }
}

/** Months are archived whole: the next one when its last row is old enough. */
function toNextArchive(
  { auditKeep, auditArchiveDir }: AdminDeps['context']['config'],
  now: number,
): StorageView['next_archive'] {
  if (auditKeep === 'off' || auditArchiveDir === undefined) return null
  const before = endOf(toMonth(now - auditKeep))
  return { before: toIsoTime(before), from: toIsoTime(before + auditKeep) }
}

const KEEP_SETTINGS =
  /^TABBAT_(AUDIT_KEEP|RECORDS_KEEP|STATISTICS_KEEP|REQUESTS_KEEP|REQUESTS_MAX|WEBHOOKS_LOG|PENDING_KEEP)$/

const toView = (
  report: StorageReport,
  archives: readonly ArchiveRow[],
  { databaseUrl, shownSettings }: AdminDeps['context']['config'],
): Omit<StorageView, 'backup' | 'backup_check' | 'next_cleanup_at' | 'next_archive'> => ({
  database: databaseUrl === undefined ? 'sqlite' : 'postgres',
  total_bytes: report.total,
  free_inside_bytes: report.freeInside,
  tables: report.tables
    .toSorted((one, other) => other.bytes - one.bytes)
    .map(({ table, bytes }) => ({ table, bytes })),
  audit_rows: report.auditRows,
  archives: archives.map(toArchiveView),
  history: report.history.map(({ day, bytes }) => ({
    day: new Date(day * DAY_MS).toISOString().slice(0, 10),
    bytes,
  })),
  bytes_per_day: report.bytesPerDay ?? null,
  disk: report.disk
    ? {
        free_bytes: report.disk.free,
        size_bytes: report.disk.size,
        status: toDiskStatus(report.disk.free, report.disk.size),
      }
    : null,
  days_left: report.daysLeft ?? null,
  keep: shownSettings
    .filter(({ name }) => KEEP_SETTINGS.test(name))
    .map(({ name, value }) => ({ setting: name, value: value ?? 'off' })),
})

function toArchiveView({ number, statement, recordedAt, removedAt }: ArchiveRow): ArchiveView {
  const { rows, before, by } = JSON.parse(statement) as ArchiveStatement
  const archived_at = new Date(recordedAt).toISOString()
  return { number, rows, before, archived_at, by, removed: removedAt !== undefined }
}

export const SETTINGS_ROUTES: readonly AdminRoute[] = [view, listNodes, viewStorage]
