import type { CatalogueFiles, InternetFile, TvFile, TvType } from '../contract/bundles.ts'
import { SourceError } from './source.ts'

/** A price ("1020.00" or 1020) in the catalogue's spelling; undefined for 0. */
export function toPrice(source: string, value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  if (!/^\d{1,9}(\.\d{1,2}0*)?$/.test(text))
    throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
  if (Number(text) === 0) return undefined
  const [naira = '', kobo = ''] = text.split('.')
  const plain = naira.replace(/^0+(?=\d)/, '')
  return /^0*$/.test(kobo) ? plain : `${plain}.${kobo.slice(0, 2).padEnd(2, '0')}`
}

/** Reads "30 days" from a label such as "5GB Bigga for 30days"; empty when there is none. */
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

/** The same code with the same price is listed once; with two prices the reply is rejected. */
export function withoutDuplicates<T extends { readonly code: string; readonly price: string }>(
  source: string,
  items: readonly T[],
): T[] {
  const byCode = new Map<string, T>()
  for (const item of items) {
    const key = item.code.toLowerCase()
    const known = byCode.get(key)
    if (known && known.price !== item.price)
      throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
    if (!known) byCode.set(key, item)
  }
  return [...byCode.values()]
}

/** The TV list with new products. Add-ons keep those of their products that still exist. */
export function withProducts(list: TvFile, products: TvFile['products'], note: string): TvFile {
  const known = new Set(products.map(({ code }) => code))
  const add_ons = list.add_ons.map((addOn) => ({
    ...addOn,
    products: addOn.products.filter((code) => known.has(code)),
  }))
  return { ...list, note, products, add_ons }
}
