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
  onStopSignal(onSignal)
}

/** Calls `handle` for SIGTERM and SIGINT. */
export function onStopSignal(handle: (signal: NodeJS.Signals) => void): void {
  const onSignal = withoutCopies(handle)
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

/** A person does not press Ctrl-C again this soon. */
const COPY_MS = 500

/**
 * Leaves out copies: Ctrl-C is sent to all programs of a terminal, and `npm start`, which gets it too, passes it on. systemd and a
 * process that starts workers do the same with SIGTERM.
 */
export function withoutCopies(
  handle: (signal: NodeJS.Signals) => void,
  now: () => number = () => performance.now(),
): (signal: NodeJS.Signals) => void {
  let last: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  return (signal) => {
    const at = now()
    if (last?.signal === signal && at - last.at < COPY_MS) return
    last = { signal, at }
    handle(signal)
  }
}

/**
 * Calls `reload` on SIGHUP, if there is a log file, a certificate or a folder of vendor files to be read again. Without them the
 * signal ends the process, as a terminal that closes expects.
 */
export function onReloadSignal({ logFile, tlsCert, vendorsDir }: Config, reload: () => void): void {
  if ([logFile, tlsCert, vendorsDir].some((setting) => setting !== undefined)) process.on('SIGHUP', reload)
}
