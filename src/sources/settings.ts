import {
  duration,
  InvalidSetting,
  oneOf,
  orOff,
  type Setting,
  setting,
  type ValuesOf,
  wholeNumber,
} from '../settings/setting.ts'
import { namesWith, type VendorName, type VendorValues } from './vendors.ts'

export type SourceName = 'registry' | VendorName

/** A list of known names without duplicates. */
export const namesOf =
  <Name extends string>(what: string, known: readonly Name[]) =>
  (text: string): Name[] => {
    const names = text.split(',').map((part) => part.trim().toLowerCase()) as Name[]
    if (names.every((name) => known.includes(name)) && new Set(names).size === names.length) return names
    throw new InvalidSetting(
      `must be ${what} separated by commas, each at most once, out of: ${known.join(', ')}`,
    )
  }

const sourceNames = (ability: 'nin' | 'bvn') =>
  namesOf<SourceName>('sources', ['registry', ...namesWith(ability)])

/** Which sources are called, in which order, and what follows. The settings of each vendor are in sources/. */
export const SOURCE_SETTINGS = {
  ninSources: setting(
    'TABBAT_NIN_SOURCES',
    'registry',
    sourceNames('nin'),
    `Sources of NIN records for live keys, called in this order. registry is your own records. Vendors: ${namesWith('nin').join(', ')}. See docs/sources.md.`,
  ),
  bvnSources: setting(
    'TABBAT_BVN_SOURCES',
    'registry',
    sourceNames('bvn'),
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
export type SourceSettings = ValuesOf<typeof SOURCE_SETTINGS> & { readonly vendors: VendorValues }
