import cluster, { type ClusterSettings, type Worker } from 'node:cluster'
import { isSea } from 'node:sea'
import { relayCounts } from './worker-counts.ts'

/** A worker that ends sooner than this after its start would only end again. */
const LEAST_LIFE_MS = 5000

/**
 * Starts the workers and keeps them running, until it is told to stop. Each is a server of its own with its own part of the
 * audit log; the system hands out connections. One that dies is replaced; one that cannot start ends everything, because the
 * others would not fare better.
 */
export function runWorkers(count: number): void {
  let stopping = false
  const start = (place: number) => {
    const startedAt = performance.now()
    cluster.setupPrimary(toForkOptions(place))
    const worker = cluster.fork()
    worker.once('exit', (code) => {
      // One that was killed has no code.
      if (stopping && code) process.exitCode = code
      if (stopping) return
      if (performance.now() - startedAt > LEAST_LIFE_MS) return start(place)
      stopping = true
      process.exitCode = code || 1
      stopAll()
    })
  }
  const onSignal = (signal: NodeJS.Signals) => {
    stopping = true
    stopAll(signal)
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  relayCounts()
  for (let place = 1; place <= count; place++) start(place)
}

/** The single executable has no script to name: its first argument is the command. */
function toForkOptions(place: number): ClusterSettings {
  const worker = ['--worker', String(place)]
  return isSea() ? { exec: 'serve', args: worker } : { args: ['serve', ...worker] }
}

/** Each finishes what it has accepted. */
function stopAll(signal: NodeJS.Signals = 'SIGTERM'): void {
  for (const worker of Object.values(cluster.workers ?? {}) as Worker[]) worker.process.kill(signal)
}
