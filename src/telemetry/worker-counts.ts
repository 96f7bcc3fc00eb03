import cluster, { type Worker } from 'node:cluster'
import type { Series } from './request-counts.ts'

/** What workers and the process that started them say to one another, to add up what each has counted. */
type Message =
  | { readonly counts: 'ask'; readonly id: number }
  | { readonly counts: 'tell'; readonly id: number }
  | { readonly counts: 'told'; readonly id: number; readonly series: readonly Series[] }
  | { readonly counts: 'all'; readonly id: number; readonly series: readonly Series[] }

/** A worker that is too busy to answer is left out, this once. */
const PATIENCE_MS = 500

/** In a worker: tells what was counted here when asked, and asks the others. Nobody else has others. */
export function joinWorkers(dump: () => readonly Series[]): () => Promise<readonly Series[]> {
  if (!cluster.isWorker) return async () => []
  const waiting = new Map<number, (series: readonly Series[]) => void>()
  let asked = 0
  process.on('message', (message: Message) => {
    if (message?.counts === 'tell') process.send?.({ counts: 'told', id: message.id, series: dump() })
    if (message?.counts === 'all') waiting.get(message.id)?.(message.series)
  })
  return () =>
    new Promise((resolve) => {
      const id = ++asked
      const finish = (series: readonly Series[]) => {
        waiting.delete(id)
        resolve(series)
      }
      waiting.set(id, finish)
      process.send?.({ counts: 'ask', id })
      setTimeout(finish, 2 * PATIENCE_MS, []).unref()
    })
}

/** In the process that started the workers: carries the question of one to the others, and their answers back. */
export function relayCounts(): void {
  let next = 0
  const rounds = new Map<number, { readonly series: Series[]; left: number; readonly finish: () => void }>()
  const ask = (asker: Worker, id: number) => {
    const others = (Object.values(cluster.workers ?? {}) as Worker[]).filter((worker) => worker !== asker)
    const round = ++next
    const series: Series[] = []
    const finish = () => {
      if (rounds.delete(round) && asker.isConnected()) asker.send({ counts: 'all', id, series })
    }
    rounds.set(round, { series, left: others.length, finish })
    for (const worker of others) worker.send({ counts: 'tell', id: round })
    if (others.length === 0) finish()
    setTimeout(finish, PATIENCE_MS).unref()
  }
  cluster.on('message', (worker, message: Message) => {
    if (message?.counts === 'ask') ask(worker, message.id)
    if (message?.counts !== 'told') return
    const round = rounds.get(message.id)
    if (!round) return
    round.series.push(...message.series)
    round.left -= 1
    if (round.left === 0) round.finish()
  })
}
