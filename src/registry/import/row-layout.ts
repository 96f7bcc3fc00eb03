/** The names of a JSON row, and the text before each value. Rows of one export have the same names in the same order. */
export type RowLayout = {
  readonly names: readonly string[]
  readonly before: readonly Buffer[]
  /** The text behind the last value. */
  readonly rest: Buffer
}

/** A name and what follows it: a group, a text or null. */
const ITEM = /([\s{},]*)"([^"\\.]*)"\s*:\s*(?:\{|("(?:[^"\\]|\\.)*"|null))/y

/** The layout of a row, which must be valid JSON; undefined when it holds more than texts, nulls and groups of them. */
export function learnLayout(row: string): RowLayout | undefined {
  const groups: string[] = []
  const names: string[] = []
  const before: Buffer[] = []
  const seen = new Set<string>()
  let text = ''
  let end = 0
  ITEM.lastIndex = 0
  for (let item = ITEM.exec(row); item; item = ITEM.exec(row)) {
    const [whole, signs = '', name = '', value] = item
    for (const sign of signs) if (sign === '}') groups.pop()
    const path = [...groups, name].join('.')
    // Of two values with one name, JSON.parse returns the last.
    if (seen.has(path)) return undefined
    seen.add(path)
    end = ITEM.lastIndex
    text += whole.slice(0, whole.length - (value?.length ?? 0))
    if (value === undefined) {
      groups.push(name)
      continue
    }
    names.push(path)
    before.push(Buffer.from(text))
    text = ''
  }
  const rest = row.slice(end)
  if (names.length === 0 || !/^[\s}]*$/.test(rest)) return undefined
  return { names, before, rest: Buffer.from(text + rest) }
}
