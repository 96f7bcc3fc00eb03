import { readShipped } from '../catalogue/versions.ts'
import type { CatalogueFiles } from '../contract/catalogue-files.ts'

/** What a vendor of bundles sells now: the lists that ship, until a test changes them. */
export type Shop = { files: CatalogueFiles }

export const openShop = (): Shop => ({ files: readShipped() })

type Item = { readonly code: string; readonly price: string; readonly description?: string }

/** The same lists with every item changed, or taken away where nothing comes back. */
export function mapGoods(files: CatalogueFiles, change: (item: Item, list: string) => Item | undefined) {
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

/** As after a rise of the prices by a tenth. */
export const raisePrices = (files: CatalogueFiles) =>
  mapGoods(files, (item) => ({ ...item, price: String(Math.round(Number(item.price) * 1.1)) }))
