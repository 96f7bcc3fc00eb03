import type { CatalogueFiles } from '../contract/bundles.ts'
import { type ItemList, itemsOf, toItemLists } from './diff.ts'

/** A larger change of one price needs a review. */
const ITEM_FACTOR = 2
/** A larger change of the median price of a list needs a review. */
const LIST_FACTOR = 1.5
/** With fewer items, the median says nothing. */
const LEAST_FOR_MEDIAN = 3
/** A list may grow by as many items as it has, or by this many. */
const LEAST_GROWTH = 10
/** Items named in one sentence. */
const MAX_NAMED = 3

/** Why the new lists are probably a mistake, one sentence each. */
export function listDoubts(before: CatalogueFiles, after: CatalogueFiles): string[] {
  const [old, fresh] = [toItemLists(before), toItemLists(after)]
  const doubts = old.flatMap((list) => listDoubtsOf(list, itemsOf(fresh, list.name)))
  // A TV provider may have no add-ons, but never no products.
  const empty = fresh.filter(
    ({ name, items }) =>
      items.size === 0 && !name.endsWith(' add-ons') && !old.some((list) => list.name === name),
  )
  return [...doubts, ...empty.map(({ name }) => `The new list ${name} is empty.`)]
}

function listDoubtsOf({ name, items }: ItemList, left: ItemList['items']): string[] {
  if (items.size === 0) return []
  if (left.size === 0) return [`The list ${name} would be empty.`]
  const lost = [...items.keys()].filter((code) => !left.has(code)).length
  const added = left.size - (items.size - lost)
  const doubts: string[] = []
  if (lost * 2 >= items.size) doubts.push(`The list ${name} would lose ${lost} of its ${items.size} codes.`)
  if (added > Math.max(items.size, LEAST_GROWTH))
    doubts.push(`The list ${name} has ${items.size} codes and would get ${added} more.`)
  return [...doubts, ...listPriceDoubts(name, items, left)]
}

function listPriceDoubts(name: string, items: ItemList['items'], left: ItemList['items']): string[] {
  const moves = [...items.values()].flatMap(({ code, price }) => {
    const now = left.get(code)?.price
    return now === undefined ? [] : [{ code, price, now, ratio: Number(now) / Number(price) }]
  })
  const jumps = moves.filter(({ ratio }) => isBeyond(ratio, ITEM_FACTOR))
  const doubts: string[] = []
  if (jumps.length > 0) {
    const named = jumps.slice(0, MAX_NAMED).map(({ code, price, now }) => `${code} from ${price} to ${now}`)
    const others = jumps.length > MAX_NAMED ? ` and ${jumps.length - MAX_NAMED} more` : ''
    doubts.push(`In the list ${name}, prices would more than double or halve: ${named.join(', ')}${others}.`)
  }
  const median = toMedian(moves.map(({ ratio }) => ratio))
  if (moves.length >= LEAST_FOR_MEDIAN && isBeyond(median, LIST_FACTOR))
    doubts.push(
      `The prices of the list ${name} would be ${Number(median.toPrecision(3))} times what they are.`,
    )
  return doubts
}

/** False for NaN: from 0 to 0 is no change. */
const isBeyond = (ratio: number, factor: number) => ratio > factor || ratio < 1 / factor

function toMedian(ratios: readonly number[]): number {
  const sorted = ratios.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 1
}
