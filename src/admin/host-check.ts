import { isIPv6 } from 'node:net'
import type { Config } from '../config/config.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { Addresses } from '../http/address.ts'
import type { Exchange } from '../http/exchange.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * Refuses requests for an unknown host name. Another site can point its own name at this server (DNS rebinding), and the
 * browser then treats both as one site. Any port is accepted, because a forwarded port differs.
 */
export function createHostCheck(
  { adminHost, adminNames = [] }: Pick<Config, 'adminHost' | 'adminNames'>,
  { hostOf }: Addresses,
): (exchange: Exchange) => void {
  const known = new Set([...LOOPBACK, toHostText(adminHost), ...adminNames])
  const isKnown = (host: string, exchange: Exchange) => {
    const name = host.toLowerCase().replace(/:\d{1,5}$/, '')
    // An IP address cannot be rebound: the browser was told to connect to it.
    return known.has(name) || (name !== '' && name === toHostText(exchange.raw.socket.localAddress ?? ''))
  }
  return (exchange) => {
    const { host = '' } = exchange.headers
    if (!isKnown(host, exchange) || !isKnown(hostOf(exchange), exchange))
      throw new AdminError('unknown_host', { headers: ['connection', 'close'] })
  }
}

/** An address in the spelling of a Host header. */
function toHostText(address: string): string {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
  return isIPv6(plain) ? `[${plain}]` : plain
}
