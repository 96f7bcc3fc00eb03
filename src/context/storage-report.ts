import { statfs } from 'node:fs/promises'
import { DAY_MS } from '../contract/time.ts'
import type { StorageSize } from '../database/storage-table.ts'
import { readTableSizes, type TableSizes } from '../database/table-sizes.ts'
import type { Config } from './config.ts'
import type { Store } from './store.ts'

/** How much the database holds, how fast it grows, and how long its disk lasts. */
export type StorageReport = TableSizes & {
  /** Bytes in the SQLite file that are free and will be used again. */
  readonly freeInside: number
  readonly auditRows: number
  readonly history: readonly StorageSize[]
  /** Undefined until it was measured on two days. */
  readonly bytesPerDay: number | undefined
  /** The disk of the data folder. Undefined with PostgreSQL, whose disk cannot be seen from here. */
  readonly disk: { readonly free: number; readonly size: number } | undefined
  /** Days until the disk is full; undefined if that is not known, or the database does not grow. */
  readonly daysLeft: number | undefined
}

const KEPT_DAYS = 400
const SHOWN_DAYS = 90
/** The days of which the growth is the median. */
const GROWTH_DAYS = 30

const toDay = (at: number) => Math.floor(at / DAY_MS)

/** Notes the size of today. */
export async function recordSizes(store: Store, now: number): Promise<void> {
  const { total } = await readTableSizes(store.database, store.file)
  const bytes = Math.max(total - (await store.storage.readFreeBytes()), 0)
  await store.storage.record({ day: toDay(now), bytes }, toDay(now) - KEPT_DAYS)
}

export async function readStorage(
  store: Store,
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  now: number,
): Promise<StorageReport> {
  const sizes = await readTableSizes(store.database, store.file)
  const freeInside = await store.storage.readFreeBytes()
  const known = (await store.storage.list(toDay(now) - SHOWN_DAYS)).filter(({ day }) => day < toDay(now))
  const history = [...known, { day: toDay(now), bytes: Math.max(sizes.total - freeInside, 0) }]
  const bytesPerDay = toGrowth(history.slice(-GROWTH_DAYS - 1))
  const disk = databaseUrl === undefined ? await readDisk(dataDir) : undefined
  return {
    ...sizes,
    freeInside,
    auditRows: await store.storage.countAuditRows(),
    history,
    bytesPerDay,
    disk,
    daysLeft: disk && toDaysLeft(disk.free + freeInside, bytesPerDay),
  }
}

/** The median of the days: an archive that makes the database smaller once does not hide the growth. */
export function toGrowth(history: readonly StorageSize[]): number | undefined {
  const steps = history.slice(1).map(({ day, bytes }, index) => {
    const before = history[index] as StorageSize
    return (bytes - before.bytes) / Math.max(day - before.day, 1)
  })
  const sorted = steps.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return Math.round(sorted[middle] as number)
  return sorted.length === 0
    ? undefined
    : Math.round(((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2)
}

export const toDaysLeft = (free: number, bytesPerDay: number | undefined): number | undefined =>
  bytesPerDay === undefined || bytesPerDay <= 0 ? undefined : Math.floor(free / bytesPerDay)

async function readDisk(folder: string) {
  const disk = await statfs(folder).catch(() => undefined)
  return disk && { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize }
}
