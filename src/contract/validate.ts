import { AppError, type FieldErrors } from '../errors.ts'
import type { Static, TObject } from './schema.ts'
import { checkOf } from './schema.ts'

type InputField = { readonly pattern: string; readonly maxLength: number; readonly 'x-rule': string }

/** Checks an input against its shape, and reports all bad fields together. Surrounding white space is trimmed. */
type Validate<T> = (input: unknown) => T

/** Request shapes are flat objects of strings, each with a pattern and a message for values that do not match. */
export function createValidate<S extends TObject>(shape: S): Validate<Static<S>> {
  const required = shape.required as readonly string[]
  const fields = Object.entries(shape.properties as unknown as Record<string, InputField>).map(
    ([name, field]) => ({
      name,
      pattern: new RegExp(field.pattern, 'u'),
      rule: field['x-rule'],
      maxLength: field.maxLength,
      check: checkOf(field),
      isOptional: !required.includes(name),
    }),
  )
  return (input) => {
    const given = isObject(input) ? input : {}
    const errors: FieldErrors = {}
    const value: Record<string, string> = {}
    for (const field of fields) {
      const { name, isOptional } = field
      const text = readField(given, name)
      if (isOptional && isBlank(text)) continue
      const problem = findProblem(text, field)
      if (problem === undefined) value[name] = (text as string).trim()
      else errors[name] = [`${name} ${problem}`]
    }
    if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
    return value as Static<S>
  }
}

type Rules = {
  readonly pattern: RegExp
  readonly rule: string
  readonly maxLength: number
  readonly check: ((text: string) => boolean) | undefined
}

/** The problem of a field, as the rest of a sentence that begins with its name. */
function findProblem(text: unknown, { pattern, rule, maxLength, check }: Rules): string | undefined {
  if (text === undefined || text === null) return 'is required'
  if (typeof text !== 'string') return 'must be a string'
  const trimmed = text.trim()
  if (trimmed === '') return 'is required'
  if (trimmed.length > maxLength || !pattern.test(trimmed)) return rule
  return check === undefined || check(trimmed) ? undefined : rule
}

/** An optional field that is empty is the same as none: forms send all their fields. */
const isBlank = (text: unknown) =>
  text === undefined || text === null || (typeof text === 'string' && text.trim() === '')

const readField = (given: Record<string, unknown>, name: string) =>
  Object.hasOwn(given, name) ? given[name] : undefined

const isObject = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input)
