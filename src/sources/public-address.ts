import type { LookupAddress, LookupOptions } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import { createFindAddresses, type FindAddresses } from './find-addresses.ts'

/** A vendor's host name resolves to a private address: the DNS was changed, or the setting is wrong. */
export class PrivateAddress extends Error {}

const PRIVATE = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of [
  // The first five embed an arbitrary IPv4 address (NAT64, Teredo, 6to4).
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv6')

/** Whether a host, as a URL spells it, is a private, loopback or reserved address. */
export function isPrivateAddress(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '')
  if (address === 'localhost') return true
  const family = isIP(address)
  return family !== 0 && isPrivate(address, family)
}

const isPrivate = (address: string, family: number) => PRIVATE.check(address, family === 6 ? 'ipv6' : 'ipv4')

type Done = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/** What the network of Node.js calls to find a host. */
export type Lookup = (host: string, options: LookupOptions, done: Done) => void

/**
 * Finds the addresses of a host, or only the public ones. The connection uses the same result, so DNS rebinding has no effect. All
 * connections to vendors and receivers share what is asked for.
 */
export const createLookup =
  (allowPrivate: boolean, find: FindAddresses = findAddresses): Lookup =>
  (host, options, done) => {
    find(host).then(
      (addresses) => {
        const allowed = addresses.filter(({ address, family }) => allowPrivate || !isPrivate(address, family))
        const first = allowed[0]
        if (!first) done(new PrivateAddress(), [])
        else if (options.all) done(null, allowed)
        else done(null, first.address, first.family)
      },
      (error: Error) => done(error, []),
    )
  }

const findAddresses = createFindAddresses()
