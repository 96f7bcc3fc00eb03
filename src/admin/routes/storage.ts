import type { ArchiveStatement } from '../../audit/archive/archive-statement.ts'
import { readStorage, type StorageReport } from '../../context/storage-report.ts'
import { DAY_MS } from '../../contract/time.ts'
import type { ArchiveRow } from '../../store/archive-table.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { type ArchiveView, StorageView } from '../shapes/storage.ts'

const read = defineRoute({
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
    return toView(report, archives, config)
  },
})

const KEEP_SETTINGS =
  /^TABBAT_(AUDIT_KEEP|RECORDS_KEEP|STATISTICS_KEEP|REQUESTS_KEEP|REQUESTS_MAX|WEBHOOKS_LOG|PENDING_KEEP)$/

const toView = (
  report: StorageReport,
  archives: readonly ArchiveRow[],
  { databaseUrl, shownSettings }: AdminDeps['context']['config'],
): StorageView => ({
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
  disk: report.disk ? { free_bytes: report.disk.free, size_bytes: report.disk.size } : null,
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

export const STORAGE_ROUTES: readonly AdminRoute[] = [read]
