import type { CatalogueFiles, InternetFile, TvFile } from '../../contract/catalogue-files.ts'
import type { Static } from '../../contract/schema.ts'
import { findInternet, toDuration, toPrice, withoutDuplicates } from '../price-list.ts'
import type { Bundles, Packages, Pins } from './wire.ts'

export const NAME = 'baxi'
const NOTE = 'From Baxi.'

type Package = { readonly code: string; readonly name: string; readonly price: string }

/** The packages that are sold for one month, with the price of one month. */
export function toPackages(packages: Static<typeof Packages>): Package[] {
  const monthly = packages.flatMap(({ code, name, availablePricingOptions }) => {
    const option = availablePricingOptions.find(({ monthsPaidFor }) => Number(monthsPaidFor) === 1)
    const price = option && toPrice(NAME, option.price)
    return price === undefined ? [] : [{ code, name, price }]
  })
  return withoutDuplicates(NAME, monthly)
}

export type ProductAddOns = { readonly product: string; readonly addOns: readonly Package[] }

/** The vendor lists the add-ons of each product; the catalogue lists the products of each add-on. */
export function toTv(
  type: 'DSTV' | 'GOTV',
  products: readonly Package[],
  sold: readonly ProductAddOns[],
): TvFile {
  const add_ons = withoutDuplicates(
    NAME,
    sold.flatMap(({ addOns }) => addOns),
  ).map((addOn) => ({
    ...addOn,
    products: sold
      .filter(({ addOns }) => addOns.some(({ code }) => code === addOn.code))
      .map(({ product }) => product),
  }))
  return { as_of: '', type, note: NOTE, products: [...products], add_ons }
}

export function toSmile(current: CatalogueFiles, bundles: Static<typeof Bundles>): InternetFile {
  const items = bundles.flatMap(({ datacode, name, price, validity }) => {
    const plain = toPrice(NAME, price)
    if (plain === undefined) return []
    const duration = toDuration(String(validity ?? ''), name)
    return [{ code: String(datacode ?? ''), price: plain, description: name, duration }]
  })
  return toInternet(current, 'smile', items)
}

/** Whether it says that none can be bought. */
const isSoldOut = (available: unknown) => /^\s*(0+|-\d+|false|no)\s*$/i.test(String(available))

/** Vouchers have no codes: a voucher with a known label or price keeps its code in our catalogue. */
export function toSpectranet(current: CatalogueFiles, pins: Static<typeof Pins>): InternetFile {
  const known = findInternet(current, 'spectranet')?.bundles ?? []
  const items = pins.flatMap(({ amount, description, available }) => {
    const price = toPrice(NAME, amount)
    if (price === undefined || isSoldOut(available)) return []
    const label = typeof description === 'string' && description.trim() !== '' ? description : undefined
    const same =
      known.find((bundle) => bundle.description === label) ?? known.find((bundle) => bundle.price === price)
    return [
      {
        code: same?.code ?? `pin-${price}`,
        price,
        description: label ?? same?.description ?? `Spectranet N${price}`,
        duration: '',
      },
    ]
  })
  return toInternet(current, 'spectranet', items)
}

const toInternet = (
  current: CatalogueFiles,
  segment: string,
  bundles: InternetFile['bundles'],
): InternetFile => ({
  as_of: '',
  segment,
  type: findInternet(current, segment)?.type ?? segment.toUpperCase(),
  note: NOTE,
  bundles: withoutDuplicates(NAME, bundles),
})
