import cluster from 'node:cluster'
import type { Config } from '../context/config.ts'
import type { Context } from '../context/context.ts'
import { failWith } from './terminal.ts'

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
export function stopOnSignal(context: Context, stopAll: () => Promise<void>): void {
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
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

/**
 * Calls `reload` on SIGHUP, if there is a log file or a certificate to be read again. Without them the signal ends the
 * process, as a terminal that closes expects.
 */
export function onReloadSignal({ logFile, tlsCert }: Config, reload: () => void): void {
  if (logFile !== undefined || tlsCert !== undefined) process.on('SIGHUP', reload)
}
