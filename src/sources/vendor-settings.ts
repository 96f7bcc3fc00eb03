import {
  baseUrl,
  credential,
  InvalidSetting,
  naira,
  oneOf,
  required,
  type Setting,
  type Settings,
  setting,
  urlPath,
  wholeNumber,
} from '../settings/setting.ts'
import { findAmbiguity } from './ambiguous-text.ts'
import type { SETTING_TYPES, VendorFile } from './vendor-file/schema.ts'

const operationPrice = (vendor: string, kind: 'NIN' | 'BVN') =>
  setting(
    `TABBAT_${vendor}_${kind}_PRICE`,
    undefined,
    naira,
    `Price of one look-up of a ${kind} in naira, if it is not TABBAT_${vendor}_PRICE.`,
  )

/** The settings of every vendor: URL, price of a call, daily spend cap, connections. */
export const vendorSettings = (vendor: string, url: string) => ({
  url: setting(
    `TABBAT_${vendor}_URL`,
    url,
    baseUrl,
    'Address of the API; set it to use the vendor’s sandbox.',
  ),
  price: setting(
    `TABBAT_${vendor}_PRICE`,
    '0',
    naira,
    'Price of one look-up in naira, for the displayed spend and the daily cap.',
  ),
  ninPrice: operationPrice(vendor, 'NIN'),
  bvnPrice: operationPrice(vendor, 'BVN'),
  dailyCap: setting(
    `TABBAT_${vendor}_DAILY_CAP`,
    undefined,
    naira,
    'Maximum spend in naira per day (Lagos time). Above it, the next source is called. Unset: no cap.',
  ),
  connections: setting(
    `TABBAT_${vendor}_CONNECTIONS`,
    '512',
    wholeNumber(1, 10_000),
    'Calls under way at the same time, at most, of each process. A request that waits for longer than a second goes to the next source, or gets 503.',
  ),
})

/** The settings of a vendor that a file describes. */
export function toFileSettings(name: string, { address, settings = {}, operations }: VendorFile): Settings {
  const prefix = `TABBAT_${name.toUpperCase()}`
  const { url, price, ninPrice, bvnPrice, ...common } = vendorSettings(name.toUpperCase(), address ?? '')
  const own = Object.entries(settings).map(([key, entry]): [string, Setting<unknown>] => {
    const { type = 'credential', help, secret = false, default: fallback } = entry
    const env = `${prefix}_${key.toUpperCase()}`
    const read = READERS[type]
    if (entry.required) return [key, required(env, read, help, secret)]
    return [key, setting(env, type === 'switch' ? (fallback ?? 'off') : fallback, read, help, secret)]
  })
  return {
    url: address === undefined ? required(`${prefix}_URL`, baseUrl, 'Address of the API.') : url,
    price,
    // With one operation, there is one price.
    ...(operations.nin && operations.bvn && { ninPrice, bvnPrice }),
    ...common,
    ...Object.fromEntries(own),
    not_found: notFoundSetting(name.toUpperCase()),
  }
}

/** The number is sent in the path only. */
const numberPath = (text: string) => {
  if (text.includes('{number}')) return urlPath(text)
  throw new InvalidSetting('must be a path with {number} in it, such as /v1/nin/{number}')
}

const pattern = (text: string) => {
  try {
    return new RegExp(text, 'i')
  } catch {
    throw new InvalidSetting('must be a regular expression such as phone.*not match')
  }
}

const READERS: Readonly<Record<(typeof SETTING_TYPES)[number], (text: string) => unknown>> = {
  credential,
  path: urlPath,
  path_with_number: numberPath,
  switch: oneOf('on', 'off'),
  pattern,
}

/** The value of a default in a vendor file; what is wrong with it, as an InvalidSetting. */
export function readDefault(type: keyof typeof READERS = 'credential', text?: string): unknown {
  if (text === undefined) return undefined
  try {
    return READERS[type](text)
  } catch (error) {
    return error
  }
}

/** For vendors that accept the W3C header `traceparent`. Other vendors get no trace ids. */
export const traceparentSetting = (vendor: string) =>
  setting(
    `TABBAT_${vendor}_TRACEPARENT`,
    'off',
    oneOf('on', 'off'),
    'Whether calls carry the header traceparent, so that the traces of that server join ours: see docs/observability.md.',
  )

/** For every vendor that verifies people: "no such person" may be a text. */
export const notFoundSetting = (vendor: string) =>
  setting(
    `TABBAT_${vendor}_NOT_FOUND`,
    undefined,
    phrases,
    'More error texts that mean that there is no such person: complete texts, separated by |. Any other error is a failure.',
  )

/** Wrong credentials or an empty account would otherwise be "not verified". */
const WHAT_TO_DO =
  'Remove it; if the vendor has a code for such a person, name it in a rule: see docs/vendors.md'

function phrases(text: string): readonly string[] {
  const list = text.split('|').map((phrase) => phrase.trim())
  if (list.includes(''))
    throw new InvalidSetting('must be texts separated by |, such as Record not found|No such NIN')
  for (const phrase of list) {
    const ambiguity = findAmbiguity(phrase)
    if (ambiguity !== undefined) throw new InvalidSetting(`${ambiguity} ${WHAT_TO_DO}`)
  }
  return list
}
