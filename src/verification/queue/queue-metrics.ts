import { steadyNow } from '../../contract/time.ts'
import type { QueueTable } from '../../ledger/queue-table.ts'
import { type Metric, toCounter, toGauge, toSample } from '../../telemetry/metric.ts'
import type { QueueSignals } from './open-queue.ts'
import { QUEUE_LANES } from './worker.ts'

/** The pending verifications that have ended in this process. */
export const toQueueEndMetrics = ({ ended }: Pick<QueueSignals, 'ended'>): Metric[] => [
  toCounter(
    'tabbat_queue_ended_total',
    'Pending verifications and rows of batches that have ended in this process, by outcome.',
    Object.entries(ended).map(([outcome, count]) => toSample({ outcome }, count)),
  ),
]

const READ_EVERY_MS = 15_000

/** The queue of all nodes, read at most every 15 seconds. While the store is unavailable, the last figures are repeated. */
export function createQueueMetrics({ queue }: { readonly queue: QueueTable }): () => Promise<Metric[]> {
  let metrics: Metric[] = []
  let readAt = Number.NEGATIVE_INFINITY
  const read = async (): Promise<Metric[]> => {
    const now = steadyNow()
    const [counts, oldestMs, lateMs] = await Promise.all([
      queue.countPending(),
      queue.findOldest(now),
      queue.findLate(now),
    ])
    const toPending = (wanted: string) =>
      counts.reduce((sum, { lane, pending }) => sum + (lane === wanted ? pending : 0), 0)
    return [
      toGauge(
        'tabbat_queue_pending',
        'Verifications that wait for an answer, by lane: single, or batch.',
        QUEUE_LANES.map((lane) => toSample({ lane }, toPending(lane))),
      ),
      toGauge(
        'tabbat_queue_oldest_seconds',
        'Age of the oldest pending verification of a live key; 0 if there is none.',
        Math.max(0, oldestMs ?? 0) / 1000,
      ),
      toGauge(
        'tabbat_queue_late_seconds',
        'How long the next pending verification has been due. It grows while no source may be called.',
        Math.max(0, lateMs ?? 0) / 1000,
      ),
    ]
  }
  return async () => {
    if (performance.now() - readAt > READ_EVERY_MS) {
      readAt = performance.now()
      metrics = await read().catch(() => metrics)
    }
    return metrics
  }
}
