import { readShipped } from '../catalogue/versions.ts'
import type { CatalogueFiles } from '../contract/bundles.ts'

/** The lists of a simulated vendor: the shipped ones, until a test changes them. */
export type ListVendor = { files: CatalogueFiles }

export const createListVendor = (): ListVendor => ({ files: readShipped() })

type Item = { readonly code: string; readonly price: string; readonly description?: string }

/** The lists with every item changed, or removed when `change` returns undefined. */
export function mapItems(files: CatalogueFiles, change: (item: Item, list: string) => Item | undefined) {
  const all = <T extends Item>(list: string, items: readonly T[]): T[] =>
    items.flatMap((item) => {
      const changed = change(item, list)
      return changed ? [{ ...item, ...changed }] : []
    })
  return {
    internet: files.internet.map((list) => ({ ...list, bundles: all(list.segment, list.bundles) })),
    tv: files.tv.map((list) => ({
      ...list,
      products: all(list.type, list.products),
      add_ons: all(`${list.type} add-ons`, list.add_ons),
    })),
  } satisfies CatalogueFiles
}

/** All prices raised by a tenth. */
export const raisePrices = (files: CatalogueFiles) =>
  mapItems(files, (item) => ({ ...item, price: String(Math.round(Number(item.price) * 1.1)) }))
