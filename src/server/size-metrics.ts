import { MINUTE_MS } from '../contract/time.ts'
import { readTableSizes, type TableSizes } from '../database/table-sizes.ts'
import type { Store } from '../store/store.ts'
import { type Metric, toGauge, toSample } from '../telemetry/metric.ts'

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
