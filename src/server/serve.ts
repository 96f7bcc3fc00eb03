import cluster from 'node:cluster'
import { Server as NetServer } from 'node:net'
import { loadNodeName } from '../audit/chain-claim.ts'
import { loadConfig } from '../context/config.ts'
import type { Context } from '../context/context.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { listWarnings } from '../context/warnings.ts'
import { toWorkerConfig } from '../context/worker-share.ts'
import { UserError } from '../errors.ts'
import type { HealthMonitor } from '../health/health-monitor.ts'
import type { App } from '../http/app.ts'
import { hasPublicSandboxKey, SANDBOX_KEY, toSandboxCall } from '../keys/sandbox-key.ts'
import { listEmptyRegistries } from '../registry/empty-registry.ts'
import { ConfigError } from '../settings/environment.ts'
import { createLog } from '../telemetry/log.ts'
import { watchClock } from '../telemetry/running-clock.ts'
import { VERSION } from '../version.ts'
import { type ApiServer, createApiServer } from './api-server.ts'
import { createContext } from './create-context.ts'
import { onReloadSignal, stopOnSignal } from './signals.ts'
import { dim, strong } from './terminal.ts'

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
