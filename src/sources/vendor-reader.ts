import { type Environment, isGiven, readSettings } from '../settings/read-settings.ts'
import { isLoopback, type Settings } from '../settings/setting.ts'
import { isPrivateAddress } from './public-address.ts'
import { VENDOR_NAMES, VENDORS, type Vendor, type VendorName, type VendorValues } from './vendors.ts'

/** What the operator has allowed for the addresses of vendors. */
type Allowed = { readonly sourcesPrivate: 'on' | 'off'; readonly sourcesPlainHttp: 'on' | 'off' }

/** A vendor that nobody named and that was given nothing it requires is not there. */
export function readVendors(
  named: ReadonlySet<string>,
  given: Environment,
  allowed: Allowed,
  problems: string[],
): VendorValues {
  const used = VENDOR_NAMES.filter((name) => named.has(name) || isSetUp(VENDORS[name].settings, given))
  return Object.fromEntries(used.map((name) => [name, readVendor(name, given, allowed, problems)]))
}

function readVendor(name: VendorName, given: Environment, allowed: Allowed, problems: string[]) {
  const { settings, check } = VENDORS[name] as unknown as Vendor
  for (const entry of Object.values(settings))
    if (entry.required && !isGiven(entry, given))
      problems.push(`${entry.env} is required to use ${name}: ${entry.help}`)
  const misfits: string[] = []
  const values = readSettings(settings, given, misfits)
  problems.push(...misfits)
  const unsafe = typeof values.url === 'string' && findUnsafe(values.url, allowed)
  if (unsafe) problems.push(`${settings.url?.env} ${unsafe}`)
  // What does not fit is missing from the values, and would be complained about twice.
  const troubles = misfits.length > 0 ? [] : [check?.(values), findCapTrouble(settings, values)]
  problems.push(...troubles.filter((trouble) => trouble !== undefined))
  return values
}

/** A price alone sets nothing up: nobody could be asked with it. */
const isSetUp = (settings: Settings, given: Environment) =>
  Object.values(settings).some((entry) => entry.required && isGiven(entry, given))

/** A cap that would never stop anything, or would let nothing through. */
function findCapTrouble(
  settings: Settings,
  { price, dailyCap }: Record<string, unknown>,
): string | undefined {
  if (typeof price !== 'number' || typeof dailyCap !== 'number') return undefined
  const [cap, cost] = [settings.dailyCap?.env, settings.price?.env]
  if (price === 0) return `${cap} needs ${cost}: without a price nothing is counted, and nothing is stopped`
  return dailyCap < price ? `${cap} is below ${cost}: not a single call would be made` : undefined
}

function findUnsafe(url: string, { sourcesPrivate, sourcesPlainHttp }: Allowed): string | undefined {
  const { hostname } = new URL(url)
  if (isLoopback(hostname)) return undefined
  if (isPlainHttp(url) && sourcesPlainHttp !== 'on')
    return 'must begin with https://, or set TABBAT_SOURCES_PLAIN_HTTP=on'
  return isPrivateAddress(hostname) && sourcesPrivate !== 'on'
    ? 'is a private address: set TABBAT_SOURCES_PRIVATE=on if that is meant'
    : undefined
}

/** Whether what is sent to this address can be read on the way. */
const isPlainHttp = (url: string) => {
  const { protocol, hostname } = new URL(url)
  return protocol !== 'https:' && !isLoopback(hostname)
}

/** The vendors that are asked over plain http, because the operator allowed it. */
export const listPlainHttp = (vendors: VendorValues): string[] =>
  Object.entries(vendors).flatMap(([name, { url }]) => (isPlainHttp(url) ? [name] : []))
