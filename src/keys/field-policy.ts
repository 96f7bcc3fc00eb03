import { BvnRecord } from '../contract/bvn.ts'
import { NinRecord } from '../contract/nin.ts'

/** What is hidden unless a key was granted more. */
const HIDDEN_BY_DEFAULT = ['next_of_kin', 'place_of_origin']

/** A key cannot hide the number it asked about. */
const ALWAYS_SHOWN = new Set(['nin_number', 'bvn_number'])

type Shape = { readonly properties?: Readonly<Record<string, Shape>> }

/** Every field of both records by its dotted name: personal_info.religion, watchlisted. */
const FIELDS: readonly string[] = [
  ...new Set([...toPaths(NinRecord as Shape), ...toPaths(BvnRecord as Shape)]),
]

/** The dotted names that a word stands for: a field, a field inside a group, or all of a group. Empty when unknown. */
export const toFields = (word: string): readonly string[] =>
  FIELDS.filter((path) => path === word || path.startsWith(`${word}.`) || path.endsWith(`.${word}`))

export type FieldGroup = { group: string; fields: { name: string; hidden_by_default: boolean }[] }

/** Every field that a key may hide or reveal, in the order of the contract; those outside of a group are the record's own. */
export function listFieldGroups(): FieldGroup[] {
  const hidden = new Set(toHiddenFields([], []))
  const groups = Map.groupBy(FIELDS, (path) =>
    path.includes('.') ? path.slice(0, path.indexOf('.')) : 'record',
  )
  return [...groups].map(([group, fields]) => ({
    group,
    fields: fields.map((name) => ({ name, hidden_by_default: hidden.has(name) })),
  }))
}

/** What a key hides: the defaults, less what it may reveal, and what it hides besides. */
export function toHiddenFields(hide: readonly string[], reveal: readonly string[]): readonly string[] {
  const revealed = new Set(reveal.flatMap(toFields))
  const byDefault = HIDDEN_BY_DEFAULT.flatMap(toFields).filter((path) => !revealed.has(path))
  return [...new Set([...byDefault, ...hide.flatMap(toFields)])]
}

/** A key's list is the same object each time. */
const released = {
  nin: new WeakMap<readonly string[], string>(),
  bvn: new WeakMap<readonly string[], string>(),
}

/** What a key gets to see, as short as can be: a group stands for all of its fields. */
export function toReleasedFields(kind: 'nin' | 'bvn', hidden: readonly string[]): string {
  const known = released[kind].get(hidden)
  if (known !== undefined) return known
  const text = listReleased(kind, hidden)
  released[kind].set(hidden, text)
  return text
}

function listReleased(kind: 'nin' | 'bvn', hidden: readonly string[]): string {
  const shape = (kind === 'nin' ? NinRecord : BvnRecord) as Shape
  const isHidden = new Set(hidden)
  const shownFields = Object.entries(shape.properties ?? {}).flatMap(([name, { properties }]) => {
    const fields = properties ? Object.keys(properties).map((field) => `${name}.${field}`) : [name]
    const shown = fields.filter((field) => !isHidden.has(field))
    return shown.length === fields.length ? [name] : shown
  })
  return shownFields.join(',')
}

function toPaths({ properties = {} }: Shape, group = ''): string[] {
  return Object.entries(properties).flatMap(([name, shape]) => {
    if (ALWAYS_SHOWN.has(name)) return []
    return shape.properties ? toPaths(shape, `${name}.`) : [`${group}${name}`]
  })
}
