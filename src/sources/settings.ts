import {
  duration,
  InvalidSetting,
  oneOf,
  orOff,
  plain,
  type Setting,
  setting,
  type ValuesOf,
  wholeNumber,
} from '../settings/setting.ts'
import { namesWith, type Vendors, type VendorValues } from './vendors.ts'

/** `registry`, or the name of a vendor. */
export type SourceName = string

/** A list without duplicates. Which names are known depends on the vendor files: see `listUnknownNames`. */
export const sourceNames = (text: string): SourceName[] => {
  const names = text.split(',').map((part) => part.trim().toLowerCase())
  if (names.every((name) => name !== '') && new Set(names).size === names.length) return names
  throw new InvalidSetting('must be names separated by commas, each at most once')
}

/** One sentence if a name of the setting is not known. */
export function listUnknownNames(
  { env }: Setting<unknown>,
  names: readonly SourceName[],
  known: readonly SourceName[],
): string[] {
  if (names.every((name) => known.includes(name))) return []
  return [`${env} must be names separated by commas, each at most once, out of: ${known.join(', ')}`]
}

/** Where the files of vendors are. */
const vendorsDir = setting(
  'TABBAT_VENDORS_DIR',
  undefined,
  plain,
  'Folder with vendor files of your own (acme.json), which add vendors or replace those that come with the program. SIGHUP reads them again. See docs/vendors.md.',
)

/** Which sources are called, in which order, and what follows. The settings of each vendor are in sources/. */
export const SOURCE_SETTINGS = {
  vendorsDir,
  ninSources: setting(
    'TABBAT_NIN_SOURCES',
    'registry',
    sourceNames,
    `Sources of NIN records for live keys, called in this order. registry is your own records. Vendors: ${namesWith('nin').join(', ')}. See docs/sources.md.`,
  ),
  bvnSources: setting(
    'TABBAT_BVN_SOURCES',
    'registry',
    sourceNames,
    `Sources of BVN records for live keys, called in this order. registry is your own records. Vendors: ${namesWith('bvn').join(', ')}.`,
  ),
  notFound: setting(
    'TABBAT_NOT_FOUND',
    'stop',
    oneOf('stop', 'next'),
    'What follows when a source has no record, or one with another phone. stop: the search ends. next: the next source is called, for a first source that is incomplete.',
  ),
  reuse: setting(
    'TABBAT_REUSE',
    'off',
    orOff(duration({ most: '30d' })),
    'How long a verified result of a vendor is stored (sealed) and reused, for example 24h, at most 30d. off: every verification calls a source.',
  ),
  paidCalls: setting(
    'TABBAT_PAID_CALLS',
    '2',
    wholeNumber(1, 100),
    'Paid calls that one Idempotency-Key may cause in 24 hours, over all nodes, retries and crashes. After that only free sources are called, and the last failure is returned. A single request never makes more than two. A pending verification has the same budget for all its attempts.',
  ),
  sourcesPrivate: setting(
    'TABBAT_SOURCES_PRIVATE',
    'off',
    oneOf('on', 'off'),
    'Whether vendors may have private IP addresses. Loopback is always allowed.',
  ),
  sourcesPlainHttp: setting(
    'TABBAT_SOURCES_PLAIN_HTTP',
    'off',
    oneOf('on', 'off'),
    'Whether vendors may be called over plain http, which others on the network can read. Loopback is always allowed. With on, the server prints a warning at the start.',
  ),
} satisfies Record<string, Setting<unknown>>

/** With the settings of the vendors in use: named in a list of sources, or with a required variable set. */
export type SourceSettings = ValuesOf<typeof SOURCE_SETTINGS> & {
  readonly vendors: VendorValues
  /** All vendors, those of TABBAT_VENDORS_DIR included. */
  readonly knownVendors: Vendors
}
