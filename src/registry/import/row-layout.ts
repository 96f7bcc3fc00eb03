/**
 * The names of a JSON row, and a pattern that reads the values between them. Rows of one export have the same names in the
 * same order; the pattern reads such a row in a third of the time of JSON.parse.
 */
export type RowLayout = { readonly names: readonly string[]; readonly pattern: RegExp }

/** A name and what follows it: a group, a text or null. */
const ITEM = /([\s{},]*)"([^"\\.]*)"\s*:\s*(?:\{|("[^"\\]*"|null))/y
/** A text without escapes and control characters, or null. */
const VALUE = '(?:"([^"\\\\\\u0000-\\u001f\\u007f-\\u009f]*)"|null)'

/** The layout of a row, which must be valid JSON; undefined when it holds more than texts, nulls and groups of them. */
export function learnLayout(row: string): RowLayout | undefined {
  const groups: string[] = []
  const names: string[] = []
  const seen = new Set<string>()
  let pattern = ''
  let end = 0
  ITEM.lastIndex = 0
  for (let item = ITEM.exec(row); item; item = ITEM.exec(row)) {
    const [whole, before = '', name = '', value] = item
    for (const sign of before) if (sign === '}') groups.pop()
    const path = [...groups, name].join('.')
    // Of two values with one name, JSON.parse returns the last.
    if (seen.has(path)) return undefined
    seen.add(path)
    end = ITEM.lastIndex
    pattern += toLiteral(whole.slice(0, whole.length - (value?.length ?? 0)))
    if (value === undefined) groups.push(name)
    else names.push(path)
    if (value !== undefined) pattern += VALUE
  }
  const rest = row.slice(end)
  if (names.length === 0 || !/^[\s}]*$/.test(rest)) return undefined
  return { names, pattern: new RegExp(`^${pattern}${toLiteral(rest)}$`) }
}

const toLiteral = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
