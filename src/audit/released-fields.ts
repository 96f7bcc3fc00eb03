import { hash } from 'node:crypto'

/** Each computed once. There are as many as field policies of keys. */
const ids = new Map<string, string>()

/** The id of a field policy, which rows hold instead of the names: the beginning of the SHA-256 of its text. */
export function toPolicyId(fields: string): string {
  const known = ids.get(fields)
  if (known !== undefined) return known
  const id = hash('sha256', fields, 'base64url').slice(0, 22)
  ids.set(fields, id)
  return id
}
