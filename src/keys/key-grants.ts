import type { KeyRow } from './key-rows.ts'
import { toKeyView } from './key-view.ts'
import { listOptions } from './options.ts'

/** What is recorded about a key in the audit log. */
const GRANTS = ['name', 'scopes', 'expires_at', ...listOptions().map(([field]) => field)] as const

/** As JSON, so that no name can be mistaken for the text around it. Options that are not used are left out. */
export function toGrantedText(row: KeyRow): string {
  const view = toKeyView(row)
  const granted = GRANTS.map((name) => [name, view[name]] as const).filter(([, value]) => isUsed(value))
  return `granted ${JSON.stringify(Object.fromEntries(granted))}`
}

/** The options that differ, before and after. Undefined: none does. */
export function toChangedText(before: KeyRow, after: KeyRow): string | undefined {
  const [from, to] = [toKeyView(before), toKeyView(after)]
  const changed = GRANTS.filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
  if (changed.length === 0) return undefined
  const entries = changed.map((name) => [name, { from: from[name], to: to[name] }])
  return `changed ${JSON.stringify(Object.fromEntries(entries))}`
}

const isUsed = (value: unknown) =>
  value !== null && value !== false && !(Array.isArray(value) && value.length === 0)
