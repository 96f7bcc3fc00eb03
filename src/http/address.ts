import { BlockList, isIP } from 'node:net'
import type { Exchange } from './exchange.ts'

/** Where a request comes from and under which name it reached us, when proxies stand between. */
export type Addresses = {
  readonly callerOf: (exchange: Exchange) => string
  readonly hostOf: (exchange: Exchange) => string
  /** Whether the browser speaks TLS: not with us, but with a proxy of ours that says so. */
  readonly isSecure: (exchange: Exchange) => boolean
}

/** What a proxy says is believed only when it is one of ours. */
export function createAddresses(trusted: readonly string[] | undefined): Addresses {
  if (!trusted)
    return {
      callerOf: ({ raw }) => raw.socket.remoteAddress ?? '',
      hostOf: ({ headers }) => headers.host ?? '',
      isSecure: () => false,
    }
  const isTrusted = createIsProxy(trusted)
  return {
    callerOf: ({ raw, headers }) => {
      const way = [...toList(headers['x-forwarded-for']), raw.socket.remoteAddress ?? '']
      return way.findLast((address) => !isTrusted(address)) ?? way[0] ?? ''
    },
    hostOf: ({ raw, headers }) => {
      const forwarded = toList(headers['x-forwarded-host']).at(-1)
      return forwarded && isTrusted(raw.socket.remoteAddress ?? '') ? forwarded : (headers.host ?? '')
    },
    isSecure: ({ raw, headers }) =>
      toList(headers['x-forwarded-proto']).at(-1) === 'https' && isTrusted(raw.socket.remoteAddress ?? ''),
  }
}

/** Whether an address is that of a proxy of ours. */
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

/** IPv4 as a socket for both families tells it. */
const toPlain = (address: string) => address.replace(/^::ffff:(?=\d+\.)/, '')
