import type { ClusterSettings, Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { Server as NetServer } from 'node:net'
import { isSea } from 'node:sea'
import { loadNodeName } from '../audit/chain-claim.ts'
import { type Config, loadConfig } from '../context/config.ts'
import type { Context } from '../context/context.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { listWarnings } from '../context/warnings.ts'
import { toWorkerConfig } from '../context/worker-share.ts'
import { UserError } from '../errors.ts'
import type { HealthMonitor } from '../health/health-monitor.ts'
import type { App } from '../http/app.ts'
import { relayLeases } from '../keys/rate-limit.ts'
import { hasPublicSandboxKey, SANDBOX_KEY, toSandboxCall } from '../keys/sandbox-key.ts'
import { listEmptyRegistries } from '../registry/empty-registry.ts'
import { ConfigError } from '../settings/environment.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { createProcessMetrics } from '../telemetry/process-metrics.ts'
import { watchClock } from '../telemetry/running-clock.ts'
import { relayMetrics } from '../telemetry/worker-metrics.ts'
import { relayQuestions } from '../telemetry/worker-question.ts'
import { VERSION } from '../version.ts'
import { type ApiServer, createApiServer } from './api-server.ts'
import { createContext } from './create-context.ts'
import { withoutCopies } from './stop-signal.ts'
import { dim, failWith, strong } from './terminal.ts'

/** How long streams of the console may go on after the listeners have closed. A stalled client must not delay shutdown. */
const STREAM_MS = 5000

/**
 * Runs the server until it is told to stop. Of several workers, the first has the admin listener and prints the banner. With
 * `mustExist` it does not create a database.
 */
export async function serve(workerNumber: number, mustExist: boolean): Promise<void> {
  const config = toWorkerConfig(loadConfig(), workerNumber)
  if (config.loopbackOnly === 'on') (await import('./loopback-only.ts')).refuseOtherMachines()
  const { promise: started, resolve: start } = Promise.withResolvers<Context>()
  // A signal that comes during the start must not end the process.
  onReloadSignal(config, () => void started.then(reload))
  const log = createLog(config.logLevel, config.logFile)
  const context = await createContext(config, log, workerNumber, mustExist).catch((error) => {
    // The process ends: what the log has about the start must not be lost.
    log.flush()
    throw error
  })
  if (context.isDemo) (await import('./loopback-only.ts')).refuseOtherMachines()
  await context.store.refuseWrites()
  const app = createApiServer(context)
  const isFirst = workerNumber === 1
  const others: { admin?: App | undefined; metrics?: App | undefined } = {}
  const stopAll = () => stop(context, app, [others.admin, others.metrics].filter(isOpen))
  try {
    await listen(app, context.config.host, context.config.port, 'TABBAT_PORT')
    stopOnSignal(context, stopAll)
    stopOnBug(context)
    start(context)
    if (isFirst) others.admin = await openAdmin(context, app, await watchHealth(context))
    if (isFirst) others.metrics = await openMetrics(context)
  } catch (error) {
    await stopAll()
    throw error
  }
  const urls = { api: app.url(), admin: others.admin?.url(), metrics: others.metrics?.url() }
  if (isFirst) printBanner(await toBanner(context, urls))
  if (isFirst) watchClock(context.log)
  context.log.event('info', 'started')
  if (cluster.isWorker) process.send?.('started')
}

/** Its reader may be gone, or its disk full: the server goes on. */
function printBanner(text: string): void {
  process.stdout.on('error', () => {}).write(`${text}\n`)
}

const isOpen = (app: App | undefined) => app !== undefined

/** From now on people are told of incidents. Loaded after the API listens, so that the API starts sooner. */
async function watchHealth(context: Context): Promise<HealthMonitor> {
  const { createHealthMonitor, toSightings } = await import('../health/health-monitor.ts')
  const node = loadNodeName(context.config.dataDir)
  const health = createHealthMonitor(context)
  context.notices.start(async () => toSightings(await health.read(), node))
  return health
}

async function openAdmin(context: Context, api: App, health: HealthMonitor): Promise<App | undefined> {
  const { adminHost, adminPort } = context.config
  if (adminPort === 'off') return undefined
  const { buildAdminServer } = await import('../admin/server.ts')
  const admin = buildAdminServer(context, api, { health })
  await listen(admin, adminHost, adminPort, 'TABBAT_ADMIN_PORT')
  return admin
}

async function openMetrics(context: Context): Promise<App | undefined> {
  const { metricsHost, metricsPort } = context.config
  if (metricsPort === 'off') return undefined
  const { buildMetricsServer } = await import('../admin/server.ts')
  const metrics = buildMetricsServer(context)
  await listen(metrics, metricsHost, metricsPort, 'TABBAT_METRICS_PORT')
  return metrics
}

async function listen(app: App, host: string, port: number, setting: string): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new UserError(
        `Port ${port} on ${host} is taken. Stop the other program or set ${setting} to a free port.`,
      )
    if (code === 'EACCES')
      throw new UserError(`Port ${port} may not be used by this user. Set ${setting} above 1023.`)
    throw new UserError(
      `Cannot listen on ${host}:${port} (${code ?? 'unknown error'}). Check ${setting.replace('PORT', 'HOST')} and ${setting}.`,
    )
  }
}

async function stop(context: Context, app: ApiServer, others: readonly App[]): Promise<void> {
  app.admission.resumeAll()
  const cutting = setTimeout(() => others.forEach(({ cutStreams }) => void cutStreams()), STREAM_MS)
  await Promise.all([app, ...others].map(drain))
  clearTimeout(cutting)
  await app.close()
  for (const other of others) await other.close()
  await context.close()
  context.log.event('info', 'stopped')
  context.log.flush()
}

/** An uncaught error: its kind and place are logged, its message is not, and the process exits. */
function stopOnBug({ log }: Context): void {
  const onBug = (error: unknown) => {
    log.failure(error)
    log.flush()
    process.exit(1)
  }
  process.on('uncaughtException', onBug).on('unhandledRejection', onBug)
}

type Urls = {
  readonly api: string
  readonly admin: string | undefined
  readonly metrics: string | undefined
}

const toMetrics = (url: string | undefined) => (url === undefined ? 'off' : `${url}/metrics`)

/** Printed after the start: addresses, a call that works, warnings. The server runs, also if the database does not answer this. */
async function toBanner(context: Context, { api: url, admin, metrics }: Urls): Promise<string> {
  const reachable = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  const facts = [
    ['listening on', url],
    ['reference', `${reachable}/docs`],
    ['console', await toConsole(context, admin)],
    ...(admin ? [['guide', `${admin}/guide/`]] : []),
    ['metrics', toMetrics(metrics ?? admin)],
    ['data', toDatabaseText(context.config)],
    ['catalogue', toAges(context)],
    ...(hasPublicSandboxKey(context.config) ? [['sandbox key', SANDBOX_KEY]] : []),
  ]
  const lines = facts.map(([name = '', value]) => `  ${dim(name.padEnd(13))} ${value}`)
  const trial = hasPublicSandboxKey(context.config)
    ? ['', dim('  Try it:'), '', toSandboxCall(reachable)]
    : []
  const empty = await listEmptyRegistries(context.store, context.config).catch(() => [])
  const all = [...listWarnings(context), ...empty.map(({ text }) => text)]
  const warnings = all.map((warning) => `  ${dim('warning:')} ${warning}`)
  return ['', strong(`Tabbat ${VERSION}`), '', ...lines, ...trial, '', ...warnings, ''].join('\n')
}

/** There is no default account: `tabbat admin invite` creates the first. */
async function toConsole({ store }: Context, adminUrl: string | undefined): Promise<string> {
  if (!adminUrl) return 'off'
  const hasAccounts = await store.accounts.hasAny().catch(() => true)
  const hint = hasAccounts ? '' : `  ${dim('first account: tabbat admin invite')}`
  return `${adminUrl}/console${hint}`
}

/** The ages of the lists, because prices change. */
const toAges = ({ catalogue }: Context) =>
  catalogue.asOf.map(({ name, as_of }) => `${name} ${as_of}`).join(', ')

/** New connections are accepted for so long after the signal: a load balancer may still send some. */
const ACCEPT_MS = 250
const TICK_MS = 100
/** How long callers that do not read their responses may delay the end. */
const UNREAD_MS = 5000

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

/**
 * Stops a server without losing a request that reached it. `server.close()` alone would close connections whose request has
 * arrived and is not read yet. So: accept a moment longer, stop listening, wait until accepted connections are read, and
 * only then close idle connections, until none is left.
 */
export async function drain({
  server,
  listener,
  connections,
}: Pick<App, 'server' | 'listener' | 'connections'>): Promise<void> {
  if (!listener.listening) return
  await sleep(ACCEPT_MS)
  const empty = new Promise<void>((done) => NetServer.prototype.close.call(listener, () => done()))
  await Promise.race([empty, sleep(ACCEPT_MS)])
  const until = performance.now() + UNREAD_MS
  const closeIdle = () =>
    performance.now() < until ? connections.closeIdle() : server.closeIdleConnections()
  const closing = setInterval(closeIdle, TICK_MS)
  await empty
  clearInterval(closing)
}

/** The message of a worker that has started. */
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

/** Until when workers that get this signal now still accept requests: see stopOnSignal. */
const toDelayEnd = ({ shutdownDelay }: Config, signal: NodeJS.Signals) =>
  signal === 'SIGTERM' && shutdownDelay !== 'off' ? performance.now() + shutdownDelay : 0

/** The single executable has no script to name: its first argument is the command. It has the flags of Node.js inside. */
function toForkOptions(workerNumber: number, mustExist: boolean): ClusterSettings {
  const worker = ['--worker', String(workerNumber), ...(mustExist ? ['--must-exist'] : [])]
  return isSea() ? { exec: 'serve', args: worker, execArgv: [] } : { args: ['serve', ...worker] }
}

/** How long requests in flight may take after the server has stopped listening. */
const DRAIN_MS = 20_000

/**
 * SIGTERM: the server is no longer ready but still answers for TABBAT_SHUTDOWN_DELAY, so that a load balancer notices before
 * the listener closes. Then it finishes the accepted requests. SIGINT (Ctrl-C) does not wait. A second signal ends the
 * delay, and one after that exits at once.
 *
 * A worker ignores further SIGTERMs, because systemd signals every process and so does the process that started the
 * workers. SIGINT ends its delay.
 */
function stopOnSignal(context: Context, stopAll: () => Promise<void>): void {
  const { lifecycle, config, log } = context
  let delay: NodeJS.Timeout | undefined
  let isDraining = false

  const startDraining = () => {
    clearTimeout(delay)
    isDraining = true
    setTimeout(() => {
      log.event('warn', 'stopped_late')
      log.flush()
      process.exit(1)
    }, DRAIN_MS).unref()
    stopAll().then(() => process.exit(0), failWith)
  }
  const onSignal = (signal: NodeJS.Signals) => {
    const isFirst = !lifecycle.stopping
    lifecycle.stopping = true
    if (isFirst && signal === 'SIGTERM' && config.shutdownDelay !== 'off') {
      log.event('info', 'stopping', { delay_ms: config.shutdownDelay })
      delay = setTimeout(startDraining, config.shutdownDelay)
    } else if (cluster.isWorker && !isFirst && (isDraining || signal === 'SIGTERM')) return
    else if (isDraining) process.exit(1)
    else startDraining()
  }
  onStopSignal(onSignal)
}

function onStopSignal(handle: (signal: NodeJS.Signals) => void): void {
  const onSignal = withoutCopies(handle)
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

/**
 * Calls `reload` on SIGHUP, if there is a log file, a certificate or a folder of vendor files to be read again. Without them the
 * signal ends the process, as a terminal that closes expects.
 */
function onReloadSignal({ logFile, tlsCert, vendorsDir }: Config, reload: () => void): void {
  if ([logFile, tlsCert, vendorsDir].some((setting) => setting !== undefined)) process.on('SIGHUP', reload)
}

function reload(context: Context): void {
  context.log.reopen()
  context.certificate?.check()
  void reloadVendors(context)
}

/** A mistake in a file or in a setting of a vendor changes nothing. */
async function reloadVendors({ sourceChain, log }: Context): Promise<void> {
  try {
    const { changed, problems } = await sourceChain.reload(loadConfig())
    if (changed.length > 0) log.event('info', 'vendors_reloaded', { vendors: changed.join(', ') })
    if (problems.length > 0) log.event('warn', 'vendors_not_reloaded', { problem: problems.join('; ') })
  } catch (error) {
    // A server that works must not end because of a file.
    const problem = error instanceof ConfigError ? error.problems.join('; ') : 'unexpected error'
    log.event('warn', 'vendors_not_reloaded', { problem })
  }
}
