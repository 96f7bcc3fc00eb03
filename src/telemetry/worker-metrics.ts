import cluster, { type Worker } from 'node:cluster'
import { type Metric, withLabel } from './metric.ts'
import type { Series } from './request-counts.ts'

/** The figures of one process. */
export type ProcessFigures = {
  /** Added up over all processes. */
  readonly requests: readonly Series[]
  /** Printed for each process, with the label `worker` when there are several. */
  readonly metrics: readonly Metric[]
}

/** Messages between workers and the primary process, which collect the figures of all. */
type Message =
  | { readonly metrics: 'request'; readonly id: number }
  | { readonly metrics: 'collect'; readonly id: number }
  | { readonly metrics: 'collected'; readonly id: number; readonly figures: ProcessFigures }
  | { readonly metrics: 'response'; readonly id: number; readonly figures: readonly ProcessFigures[] }

/** A worker that is too busy to answer is left out of this scrape. */
const TIMEOUT_MS = 500

/** In a worker: sends its figures when asked, and collects those of the other processes. Elsewhere there are no others. */
export function joinWorkers(
  collect: () => Promise<ProcessFigures>,
): () => Promise<readonly ProcessFigures[]> {
  if (!cluster.isWorker) return async () => []
  const pending = new Map<number, (figures: readonly ProcessFigures[]) => void>()
  let lastId = 0
  const sendFigures = async (id: number) =>
    process.send?.({ metrics: 'collected', id, figures: await collect() })
  process.on('message', (message: Message) => {
    // A worker that cannot read its figures is left out, too.
    if (message?.metrics === 'collect') sendFigures(message.id).catch(() => {})
    if (message?.metrics === 'response') pending.get(message.id)?.(message.figures)
  })
  return () =>
    new Promise((resolve) => {
      const id = ++lastId
      const finish = (figures: readonly ProcessFigures[]) => {
        pending.delete(id)
        resolve(figures)
      }
      pending.set(id, finish)
      process.send?.({ metrics: 'request', id })
      setTimeout(finish, 2 * TIMEOUT_MS, []).unref()
    })
}

/** In the primary process: collects the figures of the other workers for one of them, and adds its own. */
export function relayMetrics(collectOwn: () => Promise<readonly Metric[]>): void {
  let lastRound = 0
  const rounds = new Map<number, (figures: ProcessFigures) => void>()
  const collectFrom = (workers: readonly Worker[]): Promise<ProcessFigures[]> =>
    new Promise((resolve) => {
      const round = ++lastRound
      const collected: ProcessFigures[] = []
      const finish = () => {
        rounds.delete(round)
        resolve(collected)
      }
      rounds.set(round, (figures) => {
        collected.push(figures)
        if (collected.length === workers.length) finish()
      })
      for (const worker of workers) worker.send({ metrics: 'collect', id: round })
      if (workers.length === 0) finish()
      setTimeout(finish, TIMEOUT_MS).unref()
    })
  const answer = async (asker: Worker, id: number) => {
    const workers = (Object.values(cluster.workers ?? {}) as Worker[]).filter(
      (worker) => worker !== asker && worker.isConnected(),
    )
    const [own, others] = await Promise.all([collectOwn(), collectFrom(workers)])
    const primary = { requests: [], metrics: withLabel(own, 'worker', 'primary') }
    if (asker.isConnected()) asker.send({ metrics: 'response', id, figures: [primary, ...others] })
  }
  cluster.on('message', (worker, message: Message) => {
    if (message?.metrics === 'request') answer(worker, message.id).catch(() => {})
    if (message?.metrics === 'collected') rounds.get(message.id)?.(message.figures)
  })
}
