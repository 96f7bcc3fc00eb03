import { BvnRecord } from '../../contract/bvn.ts'
import { NinRecord } from '../../contract/nin.ts'
import { firstGiven, isAbsent } from '../record.ts'
import { type AnswerMap, NOT_MAPPED } from './answer-map.ts'
import { listPlaces, type Place } from './describe.ts'
import { compilePath } from './rules.ts'
import { OPERATIONS, type OperationName, type VendorFile } from './schema.ts'

/** A part of the API's answer, and the paths at which a file looks for it. */
type FieldPaths = { readonly field: string; readonly paths: readonly string[] }

/** Every part that the file takes from an answer. A value that is taken from the request has no path. */
export function listFieldPaths(file: VendorFile, operation: OperationName): FieldPaths[] {
  const map = toAnswerMap(file, operation)
  if (!map) return []
  const mapped = listPlaces(operation, map).map(({ field, source }) => ({ field, paths: toPaths(source) }))
  const names = new Set(mapped.map(({ field }) => field))
  const same = map.same_fields ? listLeaves(operation === 'bvn' ? BvnRecord : NinRecord) : []
  return [
    ...mapped.filter(({ field, paths }) => paths.length > 0 && isUsed(field, operation)),
    ...same.filter((field) => !names.has(field)).map((field) => ({ field, paths: [field] })),
  ]
}

/** The description of the answer to a NIN is also that to a virtual NIN. */
const isUsed = (field: string, operation: OperationName) =>
  field !== 'virtual NIN' || operation === 'virtual_nin'

/** The fields that have a value in this answer. */
export function listFieldsIn(file: VendorFile, operation: OperationName, body: unknown): string[] {
  const record = toAnswerMap(file, operation)
    ?.record.map((path) => (path === '$' ? body : compilePath(path)(body)))
    .find((part) => !isAbsent(part))
  const read = (path: string) =>
    path.startsWith('$.') ? compilePath(path.slice(2))(body) : compilePath(path)(record)
  return listFieldPaths(file, operation)
    .filter(({ paths }) => firstGiven(...paths.map(read)) !== undefined)
    .map(({ field }) => field)
}

/** The names of members of answers that the file mentions. */
export function listMemberNames(file: VendorFile): string[] {
  const ofRules = Object.values(file.rules)
    .flat()
    .flatMap(({ if: { values = [], text, present = [], any_present = [], absent = [] }, status_at }) => [
      ...values.map(({ at }) => at),
      ...present,
      ...any_present,
      ...absent,
      text?.at ?? '',
      status_at ?? '',
    ])
  const ofAnswers = OPERATIONS.flatMap((operation) => [
    ...(file.answers[operation]?.record ?? []),
    ...listFieldPaths(file, operation).flatMap(({ paths }) => paths),
  ])
  return [...ofRules, ...ofAnswers].flatMap((path) => path.split('.'))
}

export const toAnswerMap = (file: VendorFile, operation: OperationName): AnswerMap | undefined =>
  file.answers[operation] ?? (operation === 'virtual_nin' ? file.answers.nin : undefined)

function toPaths(source: Place['source']): string[] {
  if (typeof source === 'string') return [source]
  if ('length' in source) return source.flatMap(toPaths)
  return 'join' in source ? source.join.flatMap(toPaths) : []
}

type Shape = { readonly properties?: Readonly<Record<string, object>> }

const listLeaves = (record: Shape, prefix = ''): string[] =>
  Object.entries(record.properties ?? {}).flatMap(([name, inner]) => {
    if (NOT_MAPPED.includes(name)) return []
    return 'properties' in inner ? listLeaves(inner as Shape, `${prefix}${name}.`) : [`${prefix}${name}`]
  })
