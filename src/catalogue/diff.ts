import type { CatalogueFiles } from '../contract/bundles.ts'

/** One item that was added, removed or changed. Price changes are a kind of their own: operators look for them. */
export type Change = {
  readonly kind: 'added' | 'removed' | 'price' | 'other'
  /** Of which list: smile, dstv, or dstv add-ons. */
  readonly list: string
  readonly code: string
  readonly name: string
  readonly priceBefore: string | undefined
  readonly priceAfter: string | undefined
}

/** An item of any list. `rest` is compared besides code and price. */
type Item = { readonly code: string; readonly price: string; readonly name: string; readonly rest: string }
type ItemList = { readonly name: string; readonly items: ReadonlyMap<string, Item> }

/** The differences, list by list. Dates and notes do not count. */
export function diffFiles(before: CatalogueFiles, after: CatalogueFiles): Change[] {
  const [old, fresh] = [toItemLists(before), toItemLists(after)]
  const names = new Set([...old, ...fresh].map(({ name }) => name))
  return [...names].flatMap((list) => diffList(list, itemsOf(old, list), itemsOf(fresh, list)))
}

const itemsOf = (lists: readonly ItemList[], list: string): ReadonlyMap<string, Item> =>
  lists.find(({ name }) => name === list)?.items ?? new Map()

function diffList(list: string, old: ReadonlyMap<string, Item>, fresh: ReadonlyMap<string, Item>): Change[] {
  const toChange = (kind: Change['kind'], code: string): Change => ({
    kind,
    list,
    code,
    name: (fresh.get(code) ?? old.get(code))?.name ?? '',
    priceBefore: old.get(code)?.price,
    priceAfter: fresh.get(code)?.price,
  })
  const kept = [...fresh.values()].flatMap((item) => {
    const before = old.get(item.code)
    if (!before) return [toChange('added', item.code)]
    if (before.price !== item.price) return [toChange('price', item.code)]
    return before.rest === item.rest ? [] : [toChange('other', item.code)]
  })
  const removed = [...old.keys()].filter((code) => !fresh.has(code))
  return [...kept, ...removed.map((code) => toChange('removed', code))]
}

/** All lists of items; the add-ons of a TV provider are a list of their own. */
function toItemLists({ internet, tv }: CatalogueFiles): ItemList[] {
  const lists = internet.map(({ segment, type, bundles }) => ({
    name: segment,
    items: bundles.map(({ code, price, description, duration }) => ({
      code,
      price,
      name: description.trim(),
      rest: JSON.stringify([type, description, duration]),
    })),
  }))
  const products = tv.map(({ type, products }) => ({
    name: type.toLowerCase(),
    items: products.map(({ code, price, name }) => ({ code, price, name, rest: name })),
  }))
  const addOns = tv.map(({ type, add_ons }) => ({
    name: `${type.toLowerCase()} add-ons`,
    items: add_ons.map(({ code, price, name, products }) => ({
      code,
      price,
      name,
      rest: JSON.stringify([name, products.toSorted()]),
    })),
  }))
  return [...lists, ...products, ...addOns].map(({ name, items }) => ({
    name,
    items: new Map(items.map((item) => [item.code, item])),
  }))
}

/** "2 added, 1 removed, 14 prices changed", for one line of a log. */
export function summarise(changes: readonly Change[]): string {
  const count = (kind: Change['kind']) => changes.filter((change) => change.kind === kind).length
  const prices = count('price')
  const parts = [
    `${count('added')} added`,
    `${count('removed')} removed`,
    `${prices} ${prices === 1 ? 'price' : 'prices'} changed`,
    ...(count('other') > 0 ? [`${count('other')} changed otherwise`] : []),
  ]
  return parts.join(', ')
}

export const CHANGE_WORDS = { added: 'added', removed: 'removed', price: 'price', other: 'changed' } as const

/** A change as programs read it. */
export const toPlainChange = ({ kind, list, code, name, priceBefore, priceAfter }: Change) => ({
  change: CHANGE_WORDS[kind],
  list,
  code,
  name,
  price_before: priceBefore ?? null,
  price_after: priceAfter ?? null,
})

/** A larger change of one price needs a review. */
const ITEM_FACTOR = 2
/** A larger change of the median price of a list needs a review. */
const LIST_FACTOR = 1.5
/** With fewer items, the median says nothing. */
const MIN_FOR_MEDIAN = 3
/** A list may grow by as many items as it has, or by this many. */
const MIN_GROWTH = 10
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
  if (added > Math.max(items.size, MIN_GROWTH))
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
  if (moves.length >= MIN_FOR_MEDIAN && isBeyond(median, LIST_FACTOR))
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
