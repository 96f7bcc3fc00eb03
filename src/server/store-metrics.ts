import { statfs } from 'node:fs/promises'
import type { Store } from '../context/store.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { readTableSizes, type TableSizes } from '../database/table-sizes.ts'
import { type Metric, toGauge, toSample } from '../telemetry/metric.ts'

/**
 * Facts that the store knows, read at most once a minute. While the store is unavailable, the last ones are repeated. What was never
 * done has the time 0, so that an alert on its age works.
 */
export function createStoreMetrics(
  { keys, meta }: Pick<Store, 'keys' | 'meta'>,
  isScrubbed: boolean,
): () => Promise<Metric[]> {
  let metrics: Metric[] = []
  let readAt = Number.NEGATIVE_INFINITY
  const read = async () => {
    const facts = await meta.read()
    return [
      ...toTimestamp(
        'tabbat_api_key_next_expiry_timestamp_seconds',
        'When the next live API key expires that was not rolled, in Unix time.',
        await keys.findNextExpiry(steadyNow()),
      ),
      ...toTimestamp(
        'tabbat_database_created_timestamp_seconds',
        'When the database was made, in Unix time.',
        toTime(facts.created_at),
      ),
      ...toTimestamp(
        'tabbat_backup_timestamp_seconds',
        'When the last tabbat backup was made, in Unix time; 0 before the first.',
        toTime(facts.last_backup_at) ?? 0,
      ),
      // Damage ends the process, so only passes without damage are recorded.
      ...toTimestamp(
        'tabbat_scrub_finished_timestamp_seconds',
        'When the database was last read through without finding damage, in Unix time; 0 before the first.',
        isScrubbed ? (toTime(facts.last_scrub_at) ?? 0) : undefined,
      ),
    ]
  }
  return async () => {
    if (performance.now() - readAt > MINUTE_MS) {
      readAt = performance.now()
      metrics = await read().catch(() => metrics)
    }
    return metrics
  }
}

const toTime = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))

/** Nothing when there is no such time. */
const toTimestamp = (name: string, help: string, at: number | undefined): Metric[] =>
  at === undefined ? [] : [toGauge(name, help, at / 1000)]

/** The disks of the data folder and of the checkpoints. The disk of PostgreSQL cannot be seen from here. */
export function createDiskMetrics(folders: Readonly<Record<string, string>>): () => Promise<Metric[]> {
  return async () => {
    const disks = await Promise.all(
      Object.entries(folders).map(async ([folder, path]) => {
        const disk = await statfs(path).catch(() => undefined)
        return disk ? [{ folder, free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize }] : []
      }),
    )
    const samples = disks.flat()
    return [
      toGauge(
        'tabbat_disk_free_bytes',
        'Space that is free on the disk of a folder.',
        samples.map(({ folder, free }) => toSample({ folder }, free)),
      ),
      toGauge(
        'tabbat_disk_size_bytes',
        'Size of the disk of a folder.',
        samples.map(({ folder, size }) => toSample({ folder }, size)),
      ),
    ]
  }
}

/** Read at most once a minute. While the store is unavailable, the last figures are repeated. */
export function createSizeMetrics({
  database,
  file,
}: Pick<Store, 'database' | 'file'>): () => Promise<Metric[]> {
  let sizes: TableSizes | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - readAt > MINUTE_MS) {
      readAt = performance.now()
      sizes = await readTableSizes(database, file).catch(() => sizes)
    }
    if (!sizes) return []
    const total = toGauge(
      'tabbat_database_size_bytes',
      'Size of the database on disk, with indexes.',
      sizes.total,
    )
    if (sizes.tables.length === 0) return [total]
    const samples = sizes.tables.map(({ table, bytes }) => toSample({ table }, bytes))
    return [total, toGauge('tabbat_table_size_bytes', 'Size of a table on disk, with indexes.', samples)]
  }
}
