import { createBlankRecord, saysNothing, saysNotListed } from '../../contract/record.ts'
import type { Kind } from '../../crypto/mac.ts'

type Value = string | null
type Group = Record<string, Value>
export type Fields = Record<string, Value | Group>

/** Names that a row may have although a record has no such field. */
const PICTURE = 'picture'
export const RESULT_ONLY = ['request_reference', 'verification_status', 'service_type'] as const
const EXTRA: Readonly<Record<Kind, readonly string[]>> = {
  nin: [...RESULT_ONLY, PICTURE],
  bvn: RESULT_ONLY,
}

/** Every name that a header may have: dotted, in the order of the contract. */
export const toFieldNames = (kind: Kind): string[] => [
  ...Object.entries(createBlankRecord(kind)).flatMap(([name, value]) =>
    isGroup(value) ? Object.keys(value).map((field) => `${name}.${field}`) : [name],
  ),
  ...EXTRA[kind],
]

/** Reads the fields of a row as texts, blank without data, and refuses unknown fields. */
export function createFieldReader(kind: Kind): (row: unknown) => Fields {
  const blank = createBlankRecord(kind) as unknown as Fields
  const groups = Object.keys(blank).filter((name) => isGroup(blank[name]))
  const readers = new Map<string, Reader>(
    Object.entries(blank).map(([name, value]) => [
      name,
      isGroup(value) ? createGroupReader(name, value) : createReader(name, name, value),
    ]),
  )
  for (const name of EXTRA[kind]) readers.set(name, IGNORE)
  return (row) => {
    const fields = readObject(row, blank, readers, '')
    // A missing group is copied, so that no two rows share one object.
    for (const name of groups) if (fields[name] === blank[name]) fields[name] = { ...(blank[name] as Group) }
    return fields
  }
}

type Read = Value | Group | undefined
type Reader = (value: unknown) => Read
type Readers = ReadonlyMap<string, Reader>

const IGNORE: Reader = () => undefined

function createGroupReader(name: string, blank: Group): Reader {
  const readers = new Map(
    Object.entries(blank).map(([field, value]) => [field, createReader(field, `${name}.${field}`, value)]),
  )
  return (value) => readObject(value ?? {}, blank, readers, name) as Group
}

function createReader(name: string, path: string, blank: Value): Reader {
  // Links to pictures expire, so they are not stored.
  if (name === 'image_url') return IGNORE
  if (name === 'watchlisted')
    return (value) => {
      const text = toText(value, path, blank)
      return text !== null && saysNotListed(text) ? blank : text
    }
  if (name !== 'height') return (value) => toText(value, path, blank)
  return (value) => toText(typeof value === 'number' ? String(value) : value, path, blank)
}

/** One pass over the given fields: an import spends much of its time here. */
function readObject(given: unknown, blank: Fields, readers: Readers, path: string): Fields {
  if (!isObject(given)) throw new BadRow(`${path === '' ? 'the row' : path} must be an object`)
  const fields = { ...blank }
  for (const name in given) {
    const read = readers.get(name)
    if (!read) throw new BadRow(`${path}${path && '.'}${toShownName(name)} is not a known field`)
    const value = read(given[name])
    if (value !== undefined) fields[name] = value
  }
  return fields
}

const isGroup = (value: unknown): value is Group => typeof value === 'object' && value !== null

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Why a row is rejected. The reason names fields and rules, never a value. */
export class BadRow extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'BadRow'
  }
}

/** Whether it looks like the name of a field. Another may be a value in the wrong place. */
export const isShownName = (name: string): boolean =>
  /^[A-Za-z_][\w.]{0,79}$/.test(name) && !/\d{6}/.test(name)

/** The name of a field as the file spells it, or a placeholder. */
const toShownName = (name: string): string => (isShownName(name) ? name : '[a name that is not shown]')

export const MAX_TEXT_LENGTH = 500

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
export const hasControlCharacter = (text: string) => CONTROL.test(text)
const LINE_BREAKS = /\s*[\t\r\n]\s*/g

/** A field as it is stored: trimmed, on one line. A missing or empty value becomes `blank`, and so does a word such as N/A. */
function toText<Blank extends string | null>(value: unknown, path: string, blank: Blank): string | Blank {
  if (value === undefined || value === null) return blank
  if (typeof value !== 'string') throw new BadRow(`${path} must be a string`)
  const trimmed = value.trim()
  if (saysNothing(trimmed)) return blank
  const text = hasControlCharacter(trimmed) ? toOneLine(trimmed, path) : trimmed
  if (text.length > MAX_TEXT_LENGTH) throw new BadRow(`${path} is longer than ${MAX_TEXT_LENGTH} characters`)
  return text
}

function toOneLine(text: string, path: string): string {
  const line = text.replace(LINE_BREAKS, ' ')
  if (hasControlCharacter(line)) throw new BadRow(`${path} has a control character`)
  return line
}
