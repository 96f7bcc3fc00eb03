import type { Catalogue } from '../../catalogue/catalogue.ts'
import { TV_TYPES } from '../../contract/bundles.ts'
import type { Chapter } from './guide.ts'
import { type Html, html } from './html.ts'

type Code = { readonly code: string; readonly name: string }

/** All codes of the catalogue in use, with the date of each list. No prices: the look-ups return them, with a key. */
export const toProductCodes = (catalogue: Catalogue): Chapter => ({
  id: 'product-codes',
  title: 'Product codes',
  body: html`
<p>The codes in the catalogue of this server. The dates say when each list was taken:
${catalogue.asOf.map(({ name, as_of }, index) => html`${index > 0 && ', '}${name} ${as_of}`)}.</p>
${catalogue.providers.map((provider) =>
  toList(`Internet bundles of ${provider}`, (catalogue.listInternetBundles(provider) ?? []).map(toCode)),
)}
${toList('SME data bundles', catalogue.listSmeBundles().map(toCode))}
${TV_TYPES.map((type) => {
  const products = catalogue.tvProducts.filter((product) => product.type === type)
  return html`${toList(`${type} products`, products)}${toList(`${type} add-ons`, listAddOns(catalogue, products))}`
})}`,
})

const toCode = ({ code, description }: { code: string; description: string }) => ({
  code,
  name: description.trim(),
})

/** Several products share add-ons: each is listed once. */
function listAddOns(catalogue: Catalogue, products: Catalogue['tvProducts']): Code[] {
  const addOns = products.flatMap(({ type, code }) => catalogue.findTvProduct(type, code)?.add_ons ?? [])
  const byCode = new Map(addOns.map((addOn) => [addOn.add_on_product_code, addOn.name]))
  return [...byCode].map(([code, name]) => ({ code, name }))
}

const toList = (title: string, codes: readonly Code[]): Html | false =>
  codes.length > 0 &&
  html`<details><summary>${title} (${codes.length})</summary>
<table class="codes">
<thead><tr><th scope="col">Code<th scope="col">Name</thead>
<tbody>${codes.map(({ code, name }) => html`<tr><th scope="row"><code>${code}</code><td class="rest">${name}`)}</tbody>
</table></details>`
