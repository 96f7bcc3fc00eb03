import { statfs } from 'node:fs/promises'
import { type Metric, toGauge, toSample } from '../telemetry/metric.ts'

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
