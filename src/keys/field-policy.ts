import { BvnRecord } from '../contract/bvn.ts'
import { NinRecord } from '../contract/nin.ts'
import { HIDDEN } from '../contract/record.ts'

/** Hidden unless a key may reveal it. */
const HIDDEN_BY_DEFAULT = ['next_of_kin', 'place_of_origin']

/** The number of the request is never hidden. */
const ALWAYS_SHOWN = new Set(['nin_number', 'bvn_number'])

type Shape = {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly 'x-derived-from'?: readonly string[]
}

/** Every field of both records by its dotted name (personal_info.religion, watchlisted), with the fields it is derived from. */
const SOURCES_OF: ReadonlyMap<string, readonly string[]> = new Map([
  ...toPaths(NinRecord as Shape),
  ...toPaths(BvnRecord as Shape),
])
const FIELDS: readonly string[] = [...SOURCES_OF.keys()]

/** The dotted names that a word stands for: one field, a field of a group, or a whole group. Empty when unknown. */
export const toFields = (word: string): readonly string[] =>
  FIELDS.filter((path) => path === word || path.startsWith(`${word}.`) || path.endsWith(`.${word}`))

/** Whether the field, or a field of the group, is hidden without a policy. */
export function isHiddenByDefault(word: string): boolean {
  const hidden = new Set(toHiddenFields([], []))
  return toFields(word).some((path) => hidden.has(path))
}

export type FieldGroup = {
  group: string
  fields: { name: string; hidden_by_default: boolean; derived_from: string[] }[]
}

/** Every field that a key may hide or reveal, in the order of the contract. Fields outside a group are in `record`. */
export function listFieldGroups(): FieldGroup[] {
  const hidden = new Set(toHiddenFields([], []))
  const groups = Map.groupBy(FIELDS, (path) =>
    path.includes('.') ? path.slice(0, path.indexOf('.')) : 'record',
  )
  return [...groups].map(([group, fields]) => ({
    group,
    fields: fields.map((name) => ({
      name,
      hidden_by_default: hidden.has(name),
      derived_from: [...toAllSources(name)].filter((source) => source !== name),
    })),
  }))
}

/**
 * The hidden fields of a key: the defaults, minus what it reveals, plus what it hides, plus what is derived from a hidden
 * field. So a field that is hidden cannot be revealed through another one.
 */
export function toHiddenFields(hide: readonly string[], reveal: readonly string[]): readonly string[] {
  const revealed = new Set(reveal.flatMap(toFields))
  const byDefault = HIDDEN_BY_DEFAULT.flatMap(toFields).filter((path) => !revealed.has(path))
  const hidden = new Set([...byDefault, ...hide.flatMap(toFields)])
  const derived = FIELDS.filter((path) => !hidden.isDisjointFrom(toAllSources(path)))
  return [...hidden.union(new Set(derived))]
}

/** The fields that a field is derived from, directly or through others. */
function toAllSources(path: string, found = new Set<string>()): Set<string> {
  for (const source of SOURCES_OF.get(path) ?? []) {
    if (found.has(source)) continue
    found.add(source)
    toAllSources(source, found)
  }
  return found
}

/** By the list of hidden fields, which is the same object for all requests of a key. */
const released = {
  nin: new WeakMap<readonly string[], string>(),
  bvn: new WeakMap<readonly string[], string>(),
}

/** The fields that a key sees, in short: a group that is shown whole is listed by its name. */
export function toReleasedFields(kind: 'nin' | 'bvn', hidden: readonly string[]): string {
  const known = released[kind].get(hidden)
  if (known !== undefined) return known
  const text = listReleased(kind, hidden)
  released[kind].set(hidden, text)
  return text
}

/** What hiding these fields changes in an answer that released those (a text of `toReleasedFields`). Undefined: nothing. */
export function toNewlyHidden(
  kind: 'nin' | 'bvn',
  released: string,
  hidden: readonly string[],
): { readonly fields: readonly string[]; readonly released: string } | undefined {
  if (released === toReleasedFields(kind, hidden)) return undefined
  const shown = new Set(released.split(','))
  const isShown = (path: string) => shown.has(path) || shown.has(path.split('.', 1)[0] ?? '')
  const own = listRecordFields(kind)
  const fields = own.filter((path) => isShown(path) && hidden.includes(path))
  if (fields.length === 0) return undefined
  const unseen = own.filter((path) => !isShown(path))
  return { fields, released: listReleased(kind, [...fields, ...unseen]) }
}

/** The dotted names of the fields of a record, without the number. */
export const listRecordFields = (kind: 'nin' | 'bvn'): string[] =>
  toPaths((kind === 'nin' ? NinRecord : BvnRecord) as Shape).map(([path]) => path)

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

type Path = readonly [name: string, sources: readonly string[]]

function toPaths({ properties = {} }: Shape, group = ''): Path[] {
  return Object.entries(properties).flatMap(([name, shape]): Path[] => {
    if (ALWAYS_SHOWN.has(name)) return []
    return shape.properties
      ? toPaths(shape, `${name}.`)
      : [[`${group}${name}`, shape['x-derived-from'] ?? []]]
  })
}

type Masked = { [field: string]: unknown }

/** By group, the hidden fields in it; undefined for a field of the record itself. */
type Plan = ReadonlyMap<string, readonly string[] | undefined>

/** By the list of hidden fields, which is the same object for all requests of a key. */
const plans = new WeakMap<readonly string[], Plan>()

/** Null says that the person is on no watch list, so null is hidden as well. */
const TELLING_WHEN_EMPTY = new Set(['watchlisted'])

/** A copy of the record in which the fields with these dotted names are hidden. Other empty fields stay empty. */
export function mask<T extends object>(record: T, hidden: readonly string[]): T {
  const copy = { ...record } as Masked
  for (const [name, inner] of plans.get(hidden) ?? toPlan(hidden)) {
    const value = copy[name]
    if (value === undefined) continue
    if (inner) copy[name] = maskGroup(value as Masked, inner)
    else copy[name] = TELLING_WHEN_EMPTY.has(name) ? HIDDEN : hide(value)
  }
  return copy as T
}

function maskGroup(group: Masked, fields: readonly string[]): Masked {
  const copy = { ...group }
  for (const field of fields) if (field in copy) copy[field] = hide(copy[field])
  return copy
}

function toPlan(hidden: readonly string[]): Plan {
  const plan = new Map<string, string[] | undefined>()
  for (const path of hidden) {
    const [name = '', inner] = path.split('.')
    plan.set(name, inner === undefined ? undefined : [...(plan.get(name) ?? []), inner])
  }
  plans.set(hidden, plan)
  return plan
}

const hide = (value: unknown) => (value === null || value === '' ? value : HIDDEN)
