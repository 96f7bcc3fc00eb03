import { type Environment, isGiven, readSettings } from '../settings/read-settings.ts'
import { isLoopback, type Settings } from '../settings/setting.ts'
import { isPrivateAddress } from './public-address.ts'
import type { Vendor, VendorInUse, Vendors, VendorValues } from './vendors.ts'

type Allowed = { readonly sourcesPrivate: 'on' | 'off'; readonly sourcesPlainHttp: 'on' | 'off' }

/** Reads the vendors that are named in a list of sources or have a required setting. */
export function readVendors(
  vendors: Vendors,
  named: ReadonlySet<string>,
  given: Environment,
  allowed: Allowed,
  problems: string[],
): VendorValues {
  const used = [...vendors.values()].filter(
    ({ name, settings }) => named.has(name) || isSetUp(settings, given),
  )
  return Object.fromEntries(used.map((vendor) => [vendor.name, readVendor(vendor, given, allowed, problems)]))
}

function readVendor(vendor: Vendor, given: Environment, allowed: Allowed, problems: string[]): VendorInUse {
  const { name, settings, check } = vendor
  for (const entry of Object.values(settings))
    if (entry.required && !isGiven(entry, given))
      problems.push(`${entry.env} is required to use ${name}: ${entry.help}`)
  const invalid: string[] = []
  const values = readSettings(settings, given, invalid)
  problems.push(...invalid)
  const unsafe = typeof values.url === 'string' && findUnsafe(values.url, allowed)
  if (unsafe) problems.push(`${settings.url?.env} ${unsafe}`)
  // An invalid setting is missing from the values: checking them again would report it twice.
  const found = invalid.length > 0 ? [] : [check?.(values), findCapProblem(settings, values)]
  problems.push(...found.filter((problem) => problem !== undefined))
  const { url, price, ninPrice, bvnPrice, dailyCap, connections } = values as Record<string, unknown>
  const prices = { nin: ninPrice, bvn: bvnPrice }
  return { vendor, url, price, prices, dailyCap, connections, values } as VendorInUse
}

/** Optional settings such as a price do not set a vendor up. */
const isSetUp = (settings: Settings, given: Environment) =>
  Object.values(settings).some((entry) => entry.required && isGiven(entry, given))

/** A cap without a price stops no call; a cap below a price stops every such call. */
function findCapProblem(settings: Settings, values: Record<string, unknown>): string | undefined {
  const { dailyCap } = values
  if (typeof dailyCap !== 'number') return undefined
  const own = ['ninPrice', 'bvnPrice'].filter((name) => typeof values[name] === 'number')
  // With a price for each operation, the common one is not used.
  const given = own.length === 2 ? own : ['price', ...own]
  const paid = given.filter((name) => values[name] !== 0)
  const cap = settings.dailyCap?.env
  if (paid.length === 0)
    return `${cap} needs ${settings.price?.env}: without a price, no spend is counted and no call is stopped`
  const above = paid.find((name) => dailyCap < Number(values[name]))
  return above && `${cap} is below ${settings[above]?.env}: no call would be made`
}

function findUnsafe(url: string, { sourcesPrivate, sourcesPlainHttp }: Allowed): string | undefined {
  const { hostname } = new URL(url)
  if (isLoopback(hostname)) return undefined
  if (isPlainHttp(url) && sourcesPlainHttp !== 'on')
    return 'must begin with https://, or set TABBAT_SOURCES_PLAIN_HTTP=on'
  return isPrivateAddress(hostname) && sourcesPrivate !== 'on'
    ? 'is a private address: set TABBAT_SOURCES_PRIVATE=on if that is intended'
    : undefined
}

const isPlainHttp = (url: string) => {
  const { protocol, hostname } = new URL(url)
  return protocol !== 'https:' && !isLoopback(hostname)
}

/** The vendors that are called over plain http, because the operator allowed it. */
export const listPlainHttp = (vendors: VendorValues): string[] =>
  Object.entries(vendors).flatMap(([name, { url }]) => (isPlainHttp(url) ? [name] : []))
