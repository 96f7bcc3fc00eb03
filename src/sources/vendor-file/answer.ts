import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { toLocalPhone } from '../../contract/person.ts'
import { completeBvn, completeNin, firstGiven, type Given, isAbsent, toNumber } from '../record.ts'
import { type Answer, SourceError } from '../source.ts'
import type { AnswerMap, FieldMap, FieldSource } from './answer-map.ts'
import { compilePath } from './rules.ts'
import type { OperationName } from './schema.ts'
import type { Question } from './template.ts'

/** The value of a field, from the record and the whole answer. */
type Read = (record: unknown, body: unknown, question: Question) => unknown
type Found = Extract<Answer<NinRecord | BvnRecord>, { found: true }>

/** Reads a record from the answer of a vendor. Where there is none, the answer has an unknown shape. */
export function compileAnswer(
  source: string,
  operation: OperationName,
  map: AnswerMap,
): (body: unknown, question: Question) => Found {
  const kind = operation === 'bvn' ? 'bvn' : 'nin'
  const records = map.record.map((path) => (path === '$' ? (body: unknown) => body : compilePath(path)))
  const readNumber = compileNumber(operation, map.number)
  const readPhones = compileAll(map.phones)
  const readSecondPhones = map.second_phones && compileAll(map.second_phones)
  const fill = compileFields(map.fields ?? {})
  const readReference = map.reference === undefined ? undefined : compileSource(map.reference)
  const readPrice = map.price === undefined ? undefined : compileSource(map.price)
  const readVirtualNin = map.virtual_nin && compileSource(map.virtual_nin.at)
  const mayOmit = map.virtual_nin?.may_be_missing === true
  return (body, question) => {
    const record = records.map((get) => get(body)).find((part) => !isAbsent(part))
    if (typeof record !== 'object' || record === null || Array.isArray(record))
      throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
    const mapped = fill(record, body, question)
    const given = (map.same_fields === true ? withParts(record, mapped) : mapped) as Given<NinRecord> &
      Given<BvnRecord>
    const number = readNumber(record, body, question)
    const info = {
      ...given.personal_info,
      phone_number: readPhones(record, body, question),
      ...(readSecondPhones && { phone_number_2: readSecondPhones(record, body, question) }),
    }
    return {
      found: true,
      record:
        kind === 'nin'
          ? completeNin({ ...given, nin_number: number, personal_info: info })
          : completeBvn({ ...given, bvn_number: number, nin: toNumber(given.nin), personal_info: info }),
      reference: readReference?.(record, body, question),
      ...(readPrice && { price: readPrice(record, body, question) }),
      ...(readVirtualNin && { virtualNin: readVirtualNin(record, body, question) }),
      ...(mayOmit && { mayOmitVirtualNin: true }),
    }
  }
}

/** The mapped values count before those of the same name. */
function withParts(record: object, mapped: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...record }
  for (const [name, value] of Object.entries(mapped))
    merged[name] =
      typeof value === 'object' && value !== null ? { ...(merged[name] as object), ...value } : value
  return merged
}

/** A path from the top begins with `$.`. */
function compileOne(path: string): Read {
  const get = compilePath(path.startsWith('$.') ? path.slice(2) : path)
  return path.startsWith('$.') ? (_record, body) => get(body) : (record) => get(record)
}

function compileSource(source: FieldSource): Read {
  if (typeof source === 'string') return compileOne(source)
  if (isList(source)) {
    const reads = source.map(compileSource)
    return (record, body, question) => firstGiven(...reads.map((read) => read(record, body, question)))
  }
  if ('join' in source) return compileAll(source.join)
  const { asked } = source
  return (_record, _body, { details }) => details?.[asked]
}

/** The compiler does not narrow a read-only list by itself. */
const isList = (source: FieldSource | FieldMap): source is Extract<FieldSource, readonly unknown[]> =>
  Array.isArray(source)

/** All values, in one list. */
function compileAll(sources: readonly AnswerMap['phones'][number][]): Read {
  const reads = sources.map(
    (source): Read =>
      typeof source === 'string' ? compileOne(source) : (_record, _body, { phone }) => toLocalPhone(phone),
  )
  const [only] = reads
  if (only && reads.length === 1) return only
  return (record, body, question) => reads.flatMap((read) => read(record, body, question))
}

/** A virtual NIN is written in capitals. Its answer may have something unreadable where the NIN was. */
function compileNumber(operation: OperationName, place: AnswerMap['number']): Read {
  const reads = place?.at.map(compileOne) ?? []
  const mayBeMissing = place?.may_be_missing === true
  const isVirtual = operation === 'virtual_nin'
  return (record, body, question) => {
    const value = reads.map((read) => read(record, body, question)).find((each) => !isAbsent(each))
    const number = isVirtual ? toNumber(value).toUpperCase() : toNumber(value)
    const isMissing = isVirtual ? number === '' : isAbsent(value)
    return isMissing && mayBeMissing ? question.number : number
  }
}

function compileFields(map: FieldMap): (...given: Parameters<Read>) => Record<string, unknown> {
  const entries = Object.entries(map).map(([name, source = {}]) => ({
    name,
    read: isSource(source) ? compileSource(source) : compileFields(source),
  }))
  return (record, body, question) => {
    const values: Record<string, unknown> = {}
    for (const { name, read } of entries) values[name] = read(record, body, question)
    return values
  }
}

export const isSource = (source: FieldSource | FieldMap | undefined): source is FieldSource =>
  typeof source === 'string' ||
  Array.isArray(source) ||
  (typeof source === 'object' && ('join' in source || 'asked' in source))
