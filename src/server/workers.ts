import cluster, { type ClusterSettings, type Worker } from 'node:cluster'
import { isSea } from 'node:sea'
import type { Config } from '../context/config.ts'
import { relayLeases } from '../keys/rate-limit.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { createProcessMetrics } from '../telemetry/process-metrics.ts'
import { relayMetrics } from '../telemetry/worker-metrics.ts'
import { relayQuestions } from '../telemetry/worker-question.ts'
import { onReloadSignal, onStopSignal } from './signals.ts'

/** The message of a worker that has started: see serve.ts. */
const STARTED = 'started'

/** A worker that lived less than this died early. */
const EARLY_MS = 10_000
const MAX_EARLY_DEATHS = 3
const WITHIN_MS = 60_000
const FIRST_PAUSE_MS = 250

/**
 * Starts the workers and restarts those that die, until it is told to stop. Each worker is a server with its own audit chain;
 * connections are distributed in turn. The first one starts alone, so that one process creates a new data folder; if it
 * cannot start, all stop. A worker that dies later is replaced. After an early death there is a growing pause, and the third
 * within a minute ends all.
 */
export function runWorkers(config: Config): void {
  const log = createLog(config.logLevel, config.logFile)
  const pauses = new Set<NodeJS.Timeout>()
  let earlyDeaths: number[] = []
  let isReady = false
  let stopping = false
  let hasSignal = false
  let delayedUntil = 0

  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    stopping = true
    for (const pause of pauses) clearTimeout(pause)
    log.flush()
    for (const worker of Object.values(cluster.workers ?? {}) as Worker[]) worker.process.kill(signal)
  }
  /** The first signal is passed on; a second one ends the delay of the workers, and one after the delay kills them. */
  const onSignal = (signal: NodeJS.Signals) => {
    const isDelayed = performance.now() < delayedUntil
    delayedUntil = toDelayEnd(config, hasSignal ? 'SIGINT' : signal)
    if (hasSignal && !isDelayed) process.exitCode = 1
    stop(hasSignal ? (isDelayed ? 'SIGINT' : 'SIGKILL') : signal)
    hasSignal = true
  }
  const startLater = (workerNumber: number, pauseMs: number) => {
    const pause = setTimeout(() => {
      pauses.delete(pause)
      start(workerNumber)
    }, pauseMs)
    pauses.add(pause)
  }
  /** How long to wait before the next start; undefined after too many early deaths. */
  const toPause = (livedMs: number): number | undefined => {
    if (livedMs >= EARLY_MS) return 0
    const now = performance.now()
    earlyDeaths = [...earlyDeaths.filter((at) => at > now - WITHIN_MS), now]
    return earlyDeaths.length < MAX_EARLY_DEATHS ? FIRST_PAUSE_MS * 2 ** earlyDeaths.length : undefined
  }
  const onDeath = (workerNumber: number, livedMs: number, code: number | null) => {
    const pauseMs = toPause(livedMs)
    log.event('warn', 'worker_died', {
      place: workerNumber,
      code: code ?? 'none',
      lived_ms: Math.round(livedMs),
    })
    if (pauseMs !== undefined) return startLater(workerNumber, pauseMs)
    log.event('error', 'workers_keep_dying', { deaths: MAX_EARLY_DEATHS, within_s: WITHIN_MS / 1000 })
    process.exitCode = 1
    stop()
  }
  const start = (workerNumber: number) => {
    const startedAt = performance.now()
    // The first one may create the database. If it is lost later, a worker that starts must not create an empty one.
    cluster.setupPrimary(toForkOptions(workerNumber, isReady))
    const worker = cluster.fork()
    // A message to a worker that has just died. Without a listener it would end this process; the exit is logged below.
    worker.on('error', () => {})
    worker.on('message', (message: unknown) => {
      if (message !== STARTED || isReady || stopping) return
      isReady = true
      for (let next = 2; next <= config.workers; next++) start(next)
    })
    worker.once('exit', (code: number | null) => {
      // A killed worker has no code.
      if (stopping && code) process.exitCode = code
      if (stopping) return
      if (isReady) return onDeath(workerNumber, performance.now() - startedAt, code)
      // The worker has printed why it cannot start.
      process.exitCode = code || 1
      stop()
    })
  }

  onStopSignal(onSignal)
  relayReloads(config, log)
  relayMetrics(createProcessMetrics())
  relayQuestions()
  if (config.rateLimit !== 'off') relayLeases(config.rateLimit, config.workers)
  start(1)
}

/** Passes SIGHUP on to the workers. It would end one that is starting, which therefore gets it when it has started. */
function relayReloads(config: Config, log: Pick<Log, 'reopen'>): void {
  const started = new WeakSet<Worker>()
  const waiting = new WeakSet<Worker>()
  const reloadWorker = (worker: Worker) => worker.process.kill('SIGHUP')
  cluster.on('message', (worker, message: unknown) => {
    if (message !== STARTED) return
    started.add(worker)
    if (waiting.delete(worker)) reloadWorker(worker)
  })
  onReloadSignal(config, () => {
    log.reopen()
    for (const worker of Object.values(cluster.workers ?? {}) as Worker[])
      if (started.has(worker)) reloadWorker(worker)
      else waiting.add(worker)
  })
}

/** Until when workers that get this signal now still accept requests: see signals.ts. */
const toDelayEnd = ({ shutdownDelay }: Config, signal: NodeJS.Signals) =>
  signal === 'SIGTERM' && shutdownDelay !== 'off' ? performance.now() + shutdownDelay : 0

/** The single executable has no script to name: its first argument is the command. It has the flags of Node.js inside. */
function toForkOptions(workerNumber: number, mustExist: boolean): ClusterSettings {
  const worker = ['--worker', String(workerNumber), ...(mustExist ? ['--must-exist'] : [])]
  return isSea() ? { exec: 'serve', args: worker, execArgv: [] } : { args: ['serve', ...worker] }
}
