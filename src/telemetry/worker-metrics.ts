import cluster, { type Worker } from 'node:cluster'
import { addUp, type Metric, type Series, withLabel } from './metric.ts'

/** The figures of one process, or of several. */
export type ProcessFigures = {
  /** Added up over all processes. */
  readonly requests: readonly Series[]
  /** Printed for each process, with the label `worker` when there are several. */
  readonly metrics: readonly Metric[]
}

/** Messages between workers and the primary process, which collects the figures of all. */
type Message =
  | { readonly metrics: 'joined' }
  | { readonly metrics: 'request'; readonly id: number; readonly requests: readonly Series[] }
  | { readonly metrics: 'collect'; readonly id: number }
  | { readonly metrics: 'collected'; readonly id: number; readonly figures: ProcessFigures }
  | { readonly metrics: 'response'; readonly id: number; readonly figures: ProcessFigures }

/** How long a scrape waits for a busy worker. */
const TIMEOUT_MS = 500

const NONE: ProcessFigures = { requests: [], metrics: [] }

/** In a worker: sends its figures when asked, and collects those of the other processes. Elsewhere there are no others. */
export function joinWorkers(
  collect: () => Promise<ProcessFigures>,
): (ownRequests: readonly Series[]) => Promise<ProcessFigures> {
  if (!cluster.isWorker) return async () => NONE
  const pending = new Map<number, (figures: ProcessFigures) => void>()
  let lastId = 0
  const sendFigures = async (id: number) =>
    process.send?.({ metrics: 'collected', id, figures: await collect() })
  process.on('message', (message: Message) => {
    // A worker that cannot read its figures is left out.
    if (message?.metrics === 'collect') sendFigures(message.id).catch(() => {})
    if (message?.metrics === 'response') pending.get(message.id)?.(message.figures)
  })
  process.send?.({ metrics: 'joined' })
  return (requests) =>
    new Promise((resolve) => {
      const id = ++lastId
      const finish = (figures: ProcessFigures) => {
        pending.delete(id)
        resolve(figures)
      }
      pending.set(id, finish)
      process.send?.({ metrics: 'request', id, requests })
      setTimeout(finish, 2 * TIMEOUT_MS, NONE).unref()
    })
}

/**
 * In the primary process: collects the figures of the other workers for one of them, and adds its own. A worker that has
 * not joined yet is still starting: it has no figures, and is not waited for.
 */
export function relayMetrics(
  collectOwn: () => Promise<readonly Metric[]>,
  timeoutMs: number = TIMEOUT_MS,
): void {
  let lastRound = 0
  const joined = new Set<Worker>()
  const rounds = new Map<number, (metrics: readonly Metric[]) => void>()
  const counts = createLastCounts()
  const collectFrom = (workers: readonly Worker[]): Promise<Metric[]> =>
    new Promise((resolve) => {
      const round = ++lastRound
      const collected: (readonly Metric[])[] = []
      const finish = () => {
        rounds.delete(round)
        resolve(collected.flat())
      }
      rounds.set(round, (metrics) => {
        collected.push(metrics)
        if (collected.length === workers.length) finish()
      })
      for (const worker of workers) worker.send({ metrics: 'collect', id: round })
      if (workers.length === 0) finish()
      setTimeout(finish, timeoutMs).unref()
    })
  const answer = async (asker: Worker, id: number) => {
    const workers = [...joined].filter((worker) => worker !== asker && worker.isConnected())
    const [own, others] = await Promise.all([collectOwn(), collectFrom(workers)])
    const metrics = [...withLabel(own, 'worker', 'primary'), ...others]
    const figures: ProcessFigures = { requests: counts.listExcept(asker), metrics }
    if (asker.isConnected()) asker.send({ metrics: 'response', id, figures })
  }
  cluster.on('exit', (worker) => {
    joined.delete(worker)
    counts.end(worker)
  })
  cluster.on('message', (worker, message: Message) => {
    if (message?.metrics === 'joined') joined.add(worker)
    if (message?.metrics === 'request') {
      counts.set(worker, message.requests)
      answer(worker, message.id).catch(() => {})
    }
    if (message?.metrics === 'collected') {
      counts.set(worker, message.figures.requests)
      rounds.get(message.id)?.(message.figures.metrics)
    }
  })
}

/**
 * The request counts that each worker sent last. Those of a dead or busy worker are still added up: a counter must not fall,
 * because Prometheus would take that for a restart and count all requests again.
 */
function createLastCounts() {
  const live = new Map<number, readonly Series[]>()
  let ended: readonly Series[] = []
  return {
    set: (worker: Worker, series: readonly Series[]): void => {
      if (!worker.isDead()) live.set(worker.id, series)
    },
    end: ({ id }: Worker): void => {
      ended = addUp([...ended, ...(live.get(id) ?? [])])
      live.delete(id)
    },
    listExcept: ({ id }: Worker): Series[] =>
      addUp([...ended, ...[...live].flatMap(([worker, series]) => (worker === id ? [] : series))]),
  }
}
