import { BlockList, isIP } from 'node:net'
import type { Exchange } from './exchange.ts'
import type { HttpSettings } from './settings.ts'

/** The address of the caller and the host that it asked for, also behind proxies. */
export type Addresses = {
  readonly callerOf: (exchange: Exchange) => string
  readonly hostOf: (exchange: Exchange) => string
  /** Whether the caller uses TLS: with this server, or a trusted proxy says so. */
  readonly isSecure: (exchange: Exchange) => boolean
}

/** Forwarding headers count only when they come from a trusted proxy. */
export function createAddresses({
  trustProxy: trusted,
  tlsCert,
}: Pick<HttpSettings, 'trustProxy' | 'tlsCert'>): Addresses {
  const isTls = tlsCert !== undefined
  if (!trusted)
    return {
      callerOf: ({ raw }) => raw.socket.remoteAddress ?? '',
      hostOf: ({ headers }) => headers.host ?? '',
      isSecure: () => isTls,
    }
  const isTrusted = createIsProxy(trusted)
  return {
    callerOf: ({ raw, headers }) => {
      const hops = [...toList(headers['x-forwarded-for']), raw.socket.remoteAddress ?? '']
      return hops.findLast((address) => !isTrusted(address)) ?? hops[0] ?? ''
    },
    hostOf: ({ raw, headers }) => {
      const forwarded = toList(headers['x-forwarded-host']).at(-1)
      return forwarded && isTrusted(raw.socket.remoteAddress ?? '') ? forwarded : (headers.host ?? '')
    },
    isSecure: ({ raw, headers }) =>
      isTls ||
      (toList(headers['x-forwarded-proto']).at(-1) === 'https' && isTrusted(raw.socket.remoteAddress ?? '')),
  }
}

/** Whether an address is that of a trusted proxy. */
export function createIsProxy(trusted: readonly string[] = []): (address: string) => boolean {
  const proxies = toBlockList(trusted)
  return (address) => {
    const plain = toPlain(address)
    const family = isIP(plain)
    return family !== 0 && proxies.check(plain, family === 6 ? 'ipv6' : 'ipv4')
  }
}

function toBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

const toList = (header: string | string[] | undefined) =>
  (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** A dual-stack socket reports IPv4 addresses as `::ffff:…`. */
const toPlain = (address: string) => address.replace(/^::ffff:(?=\d+\.)/, '')

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

/** The address of a listener for a client on this machine. */
export function toListenerUrl(
  { tlsCert }: Pick<HttpSettings, 'tlsCert'>,
  listener: { readonly host: string; readonly port: number },
): string {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[listener.host] ?? listener.host
  const scheme = tlsCert === undefined ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
}
