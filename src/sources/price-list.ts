import type { TvType } from '../contract/bundles.ts'
import type { CatalogueFiles, InternetFile, TvFile } from '../contract/catalogue-files.ts'
import { SourceError } from './source.ts'

/** What the vendors of lists have in common: prices and durations as the catalogue spells them. */

/** Text or number, "1020.00" or 1020, as the catalogue writes it; undefined for what costs nothing. */
export function toPrice(source: string, value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  if (!/^\d{1,9}(\.\d{1,2}0*)?$/.test(text))
    throw new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
  if (Number(text) === 0) return undefined
  const [naira = '', kobo = ''] = text.split('.')
  const plain = naira.replace(/^0+(?=\d)/, '')
  return /^0*$/.test(kobo) ? plain : `${plain}.${kobo.slice(0, 2).padEnd(2, '0')}`
}

/** "30 days" out of a label such as "5GB Bigga for 30days"; empty where it does not say. */
export function toDuration(...labels: readonly string[]): string {
  const days = labels
    .map((label) => /(\d{1,4})\s*days?/i.exec(label)?.[1])
    .find((found) => found !== undefined)
  if (days === undefined) return ''
  return Number(days) === 1 ? '1 day' : `${Number(days)} days`
}

export const findInternet = ({ internet }: CatalogueFiles, segment: string): InternetFile | undefined =>
  internet.find((list) => list.segment === segment)

export const findTv = ({ tv }: CatalogueFiles, type: TvType): TvFile | undefined =>
  tv.find((list) => list.type === type)

/** A code twice with the same price is one; with another price nobody knows which is right. */
export function withoutTwins<T extends { readonly code: string; readonly price: string }>(
  source: string,
  items: readonly T[],
): T[] {
  const byCode = new Map<string, T>()
  for (const item of items) {
    const key = item.code.toLowerCase()
    const twin = byCode.get(key)
    if (twin && twin.price !== item.price)
      throw new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
    if (!twin) byCode.set(key, item)
  }
  return [...byCode.values()]
}

/** The same TV list with other products; add-ons stay with those of their products that are left. */
export function withProducts(list: TvFile, products: TvFile['products'], note: string): TvFile {
  const known = new Set(products.map(({ code }) => code))
  const add_ons = list.add_ons.map((addOn) => ({
    ...addOn,
    products: addOn.products.filter((code) => known.has(code)),
  }))
  return { ...list, note, products, add_ons }
}
