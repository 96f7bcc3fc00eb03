import { createAddresses } from './address.ts'
import type { Exchange } from './exchange.ts'
import type { HttpSettings } from './settings.ts'

/** A name or an address, and a port. No other Host header is repeated in a response. */
const HOST =
  /^(?=.{1,255}$)(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/

type ToOrigin = (exchange: Exchange) => string | undefined

/**
 * The address of this server for its callers: TABBAT_PUBLIC_URL, else the one that this caller used, which is right behind
 * a port mapping as well. https only with TABBAT_TLS_CERT, or where a trusted proxy says so. Undefined when the Host header is not a plain host.
 */
export function createToOrigin(config: Pick<HttpSettings, 'publicUrl' | 'trustProxy' | 'tlsCert'>): ToOrigin {
  const { publicUrl } = config
  if (publicUrl !== undefined) return () => publicUrl
  const { hostOf, isSecure } = createAddresses(config)
  return (exchange) => {
    const host = hostOf(exchange)
    return HOST.test(host) ? `${isSecure(exchange) ? 'https' : 'http'}://${host}` : undefined
  }
}
