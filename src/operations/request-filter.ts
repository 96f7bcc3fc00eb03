import { findKeyIds } from '../audit/audit-filter.ts'
import { ERRORS, type FieldErrors } from '../errors.ts'
import { OPERATIONS, RESOURCE_OPERATIONS } from './operations.ts'

/** A request to an address without an operation. */
const UNKNOWN = 'unknown'

/** The values of `operation` in the request log. */
export const REQUEST_OPERATIONS: readonly string[] = [
  ...[...OPERATIONS, ...RESOURCE_OPERATIONS].map(({ name }) => name),
  UNKNOWN,
]

/** The values of `code` in the request log. */
export const REQUEST_CODES: readonly string[] = [
  'ok',
  'verified',
  'cancelled',
  'aborted',
  ...Object.keys(ERRORS),
].toSorted()

type Given = {
  /** The id of a key, or a name that one or several keys have. */
  readonly key?: string | undefined
  readonly operation?: string | undefined
  readonly code?: string | undefined
}

/** The given values that no request can have: a typing error would look like a log without such requests. */
export function requestFilterErrors(
  { key, operation, code }: Given,
  keyNames: ReadonlyMap<string, string>,
): FieldErrors {
  const errors: FieldErrors = {}
  if (key && findKeyIds(key.trim(), keyNames).length === 0)
    errors.key = ['key must be the name or the id of a key']
  if (operation && !REQUEST_OPERATIONS.includes(operation))
    errors.operation = [`operation must be one of: ${REQUEST_OPERATIONS.join(', ')}`]
  if (code && !REQUEST_CODES.includes(code))
    errors.code = ['code must be one that the API answers, such as validation_failed or not_verified']
  return errors
}
