import cluster from 'node:cluster'
import { loadConfig } from '../config/config.ts'
import { toWorkerConfig } from '../config/worker-share.ts'
import { type Context, createContext } from '../context/context.ts'
import { UserError } from '../errors.ts'
import type { App } from '../http/app.ts'
import { drain } from '../http/drain.ts'
import { watchClock } from '../telemetry/clock-watch.ts'
import { type ApiServer, createApiServer } from './api-server.ts'
import { toBanner } from './banner.ts'
import { stopOnSignal } from './stop-on-signal.ts'
import { say } from './terminal.ts'

/** How long streams of the console may go on after the listeners have closed. A stalled client must not delay shutdown. */
const STREAM_MS = 5000

/** Runs the server until it is told to stop. Of several workers, the first has the admin listener and prints the banner. */
export async function serve(workerNumber = 1): Promise<void> {
  const context = await createContext(toWorkerConfig(loadConfig(), workerNumber), undefined, workerNumber)
  const app = createApiServer(context)
  const isFirst = workerNumber === 1
  let admin: App | undefined
  const stopAll = () => stop(context, app, admin)
  try {
    await listen(app, context.config.host, context.config.port, 'TABBAT_PORT')
    stopOnSignal(context, stopAll)
    stopOnBug(context)
    if (isFirst) admin = await openAdmin(context, app)
  } catch (error) {
    await stopAll()
    throw error
  }
  if (isFirst) say(await toBanner(context, app.url(), admin?.url()))
  if (isFirst) watchClock(context.log)
  context.log.event('info', 'started')
  if (cluster.isWorker) process.send?.('started')
}

/** Loaded after the API listens, so that the API starts sooner. */
async function openAdmin(context: Context, api: App): Promise<App | undefined> {
  const { adminHost, adminPort } = context.config
  if (adminPort === 'off') return undefined
  const { buildAdminServer } = await import('../admin/server.ts')
  const admin = buildAdminServer(context, api)
  await listen(admin, adminHost, adminPort, 'TABBAT_ADMIN_PORT')
  return admin
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
      `Cannot listen on ${host}:${port} (${code ?? 'unknown error'}). Check TABBAT_HOST and ${setting}.`,
    )
  }
}

async function stop(context: Context, app: ApiServer, admin: App | undefined): Promise<void> {
  app.admission.resumeAll()
  const cutting = setTimeout(() => admin?.cutStreams(), STREAM_MS)
  await Promise.all([drain(app), admin && drain(admin)])
  clearTimeout(cutting)
  await app.close()
  await admin?.close()
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
