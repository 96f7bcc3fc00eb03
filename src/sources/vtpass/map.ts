import type { CatalogueFiles, InternetFile, TvFile } from '../../contract/catalogue-files.ts'
import type { Static } from '../../contract/schema.ts'
import { findInternet, findTv, toDuration, toPrice, withoutDuplicates, withProducts } from '../price-list.ts'
import type { Content } from './wire.ts'

export const NAME = 'vtpass'
const NOTE = 'From VTpass.'

export type Variation = { readonly code: string; readonly name: string; readonly price: string }

/** Airtime of any amount is listed with the price 0. It is not a bundle, so it is skipped. */
export function toVariations({ variations = [], varations = [] }: Static<typeof Content>): Variation[] {
  const given = variations.length > 0 ? variations : varations
  const sold = given.flatMap(({ variation_code, name, variation_amount }) => {
    const price = toPrice(NAME, variation_amount)
    return price === undefined ? [] : [{ code: String(variation_code ?? ''), name, price }]
  })
  return withoutDuplicates(NAME, sold)
}

/** Labels are not trimmed. */
export function toInternet(
  current: CatalogueFiles,
  segment: string,
  variations: readonly Variation[],
): InternetFile {
  return {
    as_of: '',
    segment,
    type: findInternet(current, segment)?.type ?? segment.toUpperCase(),
    note: NOTE,
    bundles: variations.map(({ code, name, price }) => ({
      code,
      price,
      description: name,
      duration: toDuration(name),
    })),
  }
}

export function toTv(
  current: CatalogueFiles,
  type: 'STARTIMES' | 'SHOWMAX',
  variations: readonly Variation[],
): TvFile {
  const list = findTv(current, type) ?? { as_of: '', type, products: [], add_ons: [] }
  return withProducts(
    list,
    variations.map(({ code, name, price }) => ({ code, name, price })),
    NOTE,
  )
}

/** DStv's add-ons under the vendor's codes. If an add-on has two codes, the first one that is sold counts. */
const ADD_ONS: readonly (readonly [vendor: string, ours: string])[] = [
  ['hdpvr-access-service', 'HDPVRE36'],
  ['extraview-access', 'HDPVRE36'],
  ['asia-addon', 'ASIADDE36'],
  ['frenchplus-addon', 'FRN15E36'],
  ['frenchtouch-addon', 'FRN7E36'],
  ['french11', 'FRN11E36'],
]

const PARTIAL_NOTE = 'Add-on prices from VTpass; all else as of '

/**
 * Only the prices of known add-ons are used: the vendor does not say which add-on belongs to which product, and has its own
 * product codes.
 */
export function toDstv(current: CatalogueFiles, variations: readonly Variation[]): TvFile[] {
  const list = findTv(current, 'DSTV')
  if (!list) return []
  const prices = new Map<string, string>()
  for (const [vendor, ours] of ADD_ONS.toReversed()) {
    const price = variations.find(({ code }) => code.toLowerCase() === vendor)?.price
    if (price !== undefined) prices.set(ours, price)
  }
  if (prices.size === 0) return [list]
  const add_ons = list.add_ons.map((addOn) => ({ ...addOn, price: prices.get(addOn.code) ?? addOn.price }))
  const note = list.note?.startsWith(PARTIAL_NOTE) ? list.note : `${PARTIAL_NOTE}${list.as_of}.`
  return [{ ...list, note, add_ons }]
}
