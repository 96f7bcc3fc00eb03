import { BvnRequest } from '../contract/bvn.ts'
import { NinRequest } from '../contract/nin.ts'
import { type PersonDetails, toDetails } from '../contract/person.ts'
import type { Scope } from '../contract/scope.ts'
import { createValidate } from '../contract/validate.ts'
import type { Kind } from '../crypto/mac.ts'
import { AppError } from '../errors.ts'
import type { InputRow } from './read-rows.ts'

/** A row that may be verified. */
export type BatchRow = {
  readonly line: number
  readonly kind: Kind
  readonly number: string
  readonly phone: string
  readonly amount?: string
  readonly details?: PersonDetails | undefined
  /** The caller's own word for the row, returned with its result. It may be personal. */
  readonly reference?: string
  readonly consentReference?: string
}

/** Why a row is refused. The sentence names fields and rules, never a value. */
export type RowRefusal = {
  readonly line: number
  /** The caller's own word for the row. */
  readonly reference: string | null
  readonly field: string | null
  readonly message: string
}

/** The verifications that a row may name, each with the schema of its operation. */
const OPERATIONS: Readonly<Record<string, RowOperation>> = {
  verify_nin: { kind: 'nin', scope: 'kyc:nin', validate: createValidate(NinRequest) },
  verify_bvn: { kind: 'bvn', scope: 'kyc:bvn', validate: createValidate(BvnRequest) },
}

type RowOperation = {
  readonly kind: Kind
  readonly scope: Scope
  readonly validate: (fields: unknown) => Readonly<Record<string, string>>
}

/** Whether a key with these scopes may read the answer of a row. */
export const mayRead = (scopes: ReadonlySet<Scope>, operation: string | undefined): boolean => {
  const scope = OPERATIONS[operation ?? '']?.scope
  return scope !== undefined && scopes.has(scope)
}

const MAX_REFERENCE_CHARACTERS = 100
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const CONTROL = /[\u0000-\u001f\u007f]/

/** A row that is not verified. Its own word is returned all the same, if it can be read. */
export type RefusedRow = { readonly refusals: readonly Refusal[]; readonly reference?: string | undefined }
type Refusal = Pick<RowRefusal, 'field' | 'message'>

type CheckRow = (row: InputRow) => BatchRow | RefusedRow

/** Checks rows by the schemas of the operations, and by the scopes of the key. All bad fields of a row are reported. */
export function createCheckRow(scopes: ReadonlySet<Scope>): CheckRow {
  return (row) => {
    const { line } = row
    if ('problem' in row) return { refusals: [{ field: null, message: row.problem }] }
    const refusals: Refusal[] = []
    const refuse = (field: string, message: string) => void refusals.push({ field, message })
    const { fields } = row
    const name = readText(fields, 'operation') ?? ''
    const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined
    if (!operation) refuse('operation', `operation must be ${Object.keys(OPERATIONS).join(' or ')}`)
    else if (!scopes.has(operation.scope))
      refuse('operation', `operation needs the scope ${operation.scope}, which this key does not have`)
    const inputs = operation && readInputs(operation, fields, refuse)
    const optional = readOptional(fields, refuse)
    if (!operation || !inputs || refusals.length > 0) return { refusals, reference: optional.reference }
    const { kind } = operation
    return {
      line,
      kind,
      number: inputs[kind] ?? '',
      phone: inputs.phone ?? '',
      ...toAmount(inputs),
      ...toRowDetails(inputs),
      ...optional,
    }
  }
}

type Refuse = (field: string, message: string) => void
type Fields = Readonly<Record<string, unknown>>

function readInputs({ validate }: RowOperation, fields: Fields, refuse: Refuse) {
  try {
    return validate(fields)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    for (const [field, messages] of Object.entries(error.errors ?? {}))
      for (const message of messages) refuse(field, message)
    return undefined
  }
}

function toRowDetails(inputs: Readonly<Record<string, string>>): Pick<BatchRow, 'details'> {
  const details = toDetails(inputs)
  return details === undefined ? {} : { details }
}

const toAmount = ({ amount }: Readonly<Record<string, string>>) => (amount === undefined ? {} : { amount })

function readOptional(fields: Fields, refuse: Refuse): Pick<BatchRow, 'reference' | 'consentReference'> {
  const reference = readText(fields, 'reference')
  const isBad = reference === null || (reference !== undefined && !isReference(reference))
  if (isBad)
    refuse(
      'reference',
      `reference must be a string of at most ${MAX_REFERENCE_CHARACTERS} characters on one line`,
    )
  const consentReference = readText(fields, 'consent_reference')
  if (consentReference === null) refuse('consent_reference', 'consent_reference must be a string')
  return { ...(!isBad && reference && { reference }), ...(consentReference && { consentReference }) }
}

const isReference = (text: string) =>
  text.length <= MAX_REFERENCE_CHARACTERS && !CONTROL.test(text) && text.isWellFormed()

/** Trimmed. Undefined for no data, null for a value that is no text. */
function readText(fields: Fields, name: string): string | undefined | null {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value.trim() || undefined : null
}
