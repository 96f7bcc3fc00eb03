import type { CatalogueFolder } from '../catalogue/folder.ts'
import type { Static } from '../contract/schema.ts'
import type { CatalogueList } from './shapes/catalogue.ts'

/** The lists of the catalogue as the console shows them. */
export function toCatalogueLists({ internet, tv, sme }: CatalogueFolder): Static<typeof CatalogueList>[] {
  const bundles = internet.map(({ segment, as_of, bundles }) => ({
    title: `internet ${segment}`,
    as_of,
    items: bundles.map(({ code, price, description, duration }) => ({
      code,
      name: description.trim(),
      price,
      note: duration,
    })),
  }))
  const television = tv.flatMap(({ type, as_of, products, add_ons }) => [
    {
      title: `tv ${type} products`,
      as_of,
      items: products.map(({ code, name, price }) => ({ code, name, price, note: '' })),
    },
    {
      title: `tv ${type} add-ons`,
      as_of,
      items: add_ons.map(({ code, name, price, products: baseProducts }) => ({
        code,
        name,
        price,
        note: baseProducts.join(', '),
      })),
    },
  ])
  const sizes = sme.bundles.map(({ code, description }) => ({ code, name: description, price: '', note: '' }))
  return [...bundles, ...television, { title: 'SME', as_of: sme.as_of, items: sizes }]
}
