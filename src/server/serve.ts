import cluster from 'node:cluster'
import { loadConfig } from '../context/config.ts'
import type { Context } from '../context/context.ts'
import { toWorkerConfig } from '../context/worker-share.ts'
import { UserError } from '../errors.ts'
import type { App } from '../http/app.ts'
import { drain } from '../http/drain.ts'
import { createContext } from '../server/create-context.ts'
import { watchClock } from '../telemetry/running-clock.ts'
import { type ApiServer, createApiServer } from './api-server.ts'
import { toBanner } from './banner.ts'
import { onReloadSignal, stopOnSignal } from './signals.ts'
import { say } from './terminal.ts'

/** How long streams of the console may go on after the listeners have closed. A stalled client must not delay shutdown. */
const STREAM_MS = 5000

/** Runs the server until it is told to stop. Of several workers, the first has the admin listener and prints the banner. */
export async function serve(workerNumber = 1): Promise<void> {
  const context = await createContext(toWorkerConfig(loadConfig(), workerNumber), undefined, workerNumber)
  const app = createApiServer(context)
  const isFirst = workerNumber === 1
  const others: { admin?: App | undefined; metrics?: App | undefined } = {}
  const stopAll = () => stop(context, app, [others.admin, others.metrics].filter(isOpen))
  try {
    await listen(app, context.config.host, context.config.port, 'TABBAT_PORT')
    stopOnSignal(context, stopAll)
    stopOnBug(context)
    onReloadSignal(context.config, () => {
      context.log.reopen()
      context.certificate?.check()
    })
    if (isFirst) others.admin = await openAdmin(context, app)
    if (isFirst) others.metrics = await openMetrics(context)
  } catch (error) {
    await stopAll()
    throw error
  }
  const urls = { api: app.url(), admin: others.admin?.url(), metrics: others.metrics?.url() }
  if (isFirst) say(await toBanner(context, urls))
  if (isFirst) watchClock(context.log)
  context.log.event('info', 'started')
  if (cluster.isWorker) process.send?.('started')
}

const isOpen = (app: App | undefined) => app !== undefined

/** Loaded after the API listens, so that the API starts sooner. */
async function openAdmin(context: Context, api: App): Promise<App | undefined> {
  const { adminHost, adminPort } = context.config
  if (adminPort === 'off') return undefined
  const { buildAdminServer } = await import('../admin/server.ts')
  const admin = buildAdminServer(context, api)
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
