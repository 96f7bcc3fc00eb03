import { BlockList, isIPv6 } from 'node:net'

/** Whether a secret may be used from an address. Without a list, from any. */
export function createAddressRule(allowed: readonly string[] | undefined): (address: string) => boolean {
  if (!allowed) return () => true
  const list = new BlockList()
  for (const entry of allowed) {
    const [address = '', bits] = entry.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
    return list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
  }
}
