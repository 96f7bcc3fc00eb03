import { itemsOf, toItemLists } from './diff.ts'
import type { CatalogueFiles } from './file.ts'

/** Why the new lists are probably a mistake of whoever made them, in one sentence per list; none when they are not. */
export function listDoubts(before: CatalogueFiles, after: CatalogueFiles): string[] {
  const [old, fresh] = [toItemLists(before), toItemLists(after)]
  const losses = old.flatMap(({ name, items }) => {
    const left = itemsOf(fresh, name)
    const lost = [...items.keys()].filter((code) => !left.has(code)).length
    if (items.size > 0 && left.size === 0) return [`The list ${name} would be empty.`]
    return lost * 2 > items.size ? [`The list ${name} would lose ${lost} of its ${items.size} codes.`] : []
  })
  // Most TV providers have no add-ons, but nobody has no products.
  const born = fresh.filter(
    ({ name, items }) =>
      items.size === 0 && !name.endsWith(' add-ons') && !old.some((list) => list.name === name),
  )
  return [...losses, ...born.map(({ name }) => `The new list ${name} is empty.`)]
}
