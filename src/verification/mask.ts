import { HIDDEN } from '../contract/record.ts'

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
