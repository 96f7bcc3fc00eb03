import type { Config } from '../context/config.ts'

/**
 * Calls `reload` on SIGHUP, if there is a log file or a certificate to be read again. Without them the signal ends the
 * process, as a terminal that closes expects.
 */
export function onReloadSignal({ logFile, tlsCert }: Config, reload: () => void): void {
  if (logFile !== undefined || tlsCert !== undefined) process.on('SIGHUP', reload)
}
