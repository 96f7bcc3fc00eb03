import { toBvnRecord } from '../sandbox/bvn-record.ts'
import { toNinRecord } from '../sandbox/nin-record.ts'
import type { HttpReply } from '../source.ts'
import type { AnswerMap, FieldSource } from './answer-map.ts'
import type { Condition, OperationName, OutcomeName, VendorFile } from './schema.ts'

type Body = Record<string, unknown>
type Person = { readonly number: string; readonly phoneCore: string }

/** A synthetic person, whose record is read where a vendor has none. */
export const DECOY = { number: '10000000000', phoneCore: '8030000000' } as const

/**
 * A reply that the rules of the file read as this outcome; undefined if no rule has it. A record is that of a synthetic person. It
 * follows from the file alone, so it proves nothing about the vendor.
 */
export function toSampleReply(
  file: VendorFile,
  operation: OperationName,
  outcome: OutcomeName,
  person: Person,
): HttpReply | undefined {
  const map = file.answers[operation] ?? (operation === 'virtual_nin' ? file.answers.nin : undefined)
  const rule = map && file.rules[map.rules]?.find(({ then }) => then === outcome)
  if (!map || !rule) return undefined
  const body: Body = {}
  if (outcome === 'found') writeRecord(body, operation, map, person)
  writeCondition(body, rule.if, file)
  return { status: rule.if.status?.[0] ?? 200, body }
}

function writeCondition(body: Body, condition: Condition, file: VendorFile): void {
  const { values = [], present = [], any_present = [], text } = condition
  for (const { at, is, is_not } of values) {
    const [first] = is ?? []
    const isRecord = is === undefined && read(body, at) !== undefined
    if (!isRecord) write(body, at, first ?? (is_not?.includes(true) ? false : 'other'))
  }
  for (const path of [...present, ...any_present.slice(0, 1)])
    if (read(body, path) === undefined) write(body, path, 'SAMPLE')
  if (text) write(body, text.at ?? file.error_text ?? 'message', toSampleText(text.says, file))
}

const SAMPLE_TEXTS: Readonly<Record<string, string>> = {
  no_such_person: 'Record not found',
  phone_differs: 'Phone does not match',
  temporary: 'Try again later',
  funds: 'Insufficient balance',
  format: 'The format is invalid',
}

const toSampleText = (says: readonly string[], { texts }: VendorFile): string =>
  says.map((name) => texts?.[name]?.[0] ?? SAMPLE_TEXTS[name]).find((text) => text !== undefined) ??
  'Phone number does not match'

function writeRecord(
  body: Body,
  operation: OperationName,
  map: AnswerMap,
  { number, phoneCore }: Person,
): void {
  const record = operation === 'bvn' ? toBvnRecord(number, phoneCore) : toNinRecord(number, phoneCore)
  const [place = ''] = map.record
  const prefix = place === '$' ? '' : `${place}.`
  const put = (path: string, value: unknown) =>
    path.startsWith('$.') ? write(body, path.slice(2), value) : write(body, `${prefix}${path}`, value)
  const fill = (source: FieldSource | object, value: unknown): void => {
    if (typeof source === 'string') put(source, value)
    else if (Array.isArray(source)) fill(source[0] as FieldSource, value)
    else if ('join' in source) put((source as { join: readonly string[] }).join[0] as string, value)
    else if (!('asked' in source))
      for (const [name, inner] of Object.entries(source)) fill(inner, (value as Body)[name])
  }
  if (map.same_fields === true) for (const [name, value] of Object.entries(record)) put(name, value)
  fill(map.fields ?? {}, record)
  if (map.reference !== undefined) put(map.reference, 'sample-1')
  if (operation === 'virtual_nin' && map.virtual_nin) fill(map.virtual_nin.at, number)
  if (map.number) fill(map.number.at, number)
  for (const phone of map.phones.slice(0, 1)) if (typeof phone === 'string') put(phone, `0${phoneCore}`)
}

const read = (body: unknown, path: string): unknown =>
  path.split('.').reduce((part, name) => (part as Body | undefined)?.[name], body)

function write(body: Body, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() as string
  let part = body
  for (const name of names) {
    if (typeof part[name] !== 'object' || part[name] === null) part[name] = {}
    part = part[name] as Body
  }
  part[last] = value
}
