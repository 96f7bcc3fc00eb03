import { AppError, type FieldErrors } from '../errors.ts'
import { INPUT_MAX_LENGTH } from './field.ts'
import type { Static, TObject } from './schema.ts'

type InputField = { readonly pattern: string; readonly 'x-rule': string }

/** Checks an input against its shape, and reports all bad fields together. Surrounding white space is trimmed. */
type Validate<T> = (input: unknown) => T

/** Request shapes are flat objects of strings, each with a pattern and a message for values that do not match. */
export function createValidate<S extends TObject>(shape: S): Validate<Static<S>> {
  const fields = Object.entries(shape.properties as unknown as Record<string, InputField>).map(
    ([name, field]) => ({
      name,
      pattern: new RegExp(field.pattern),
      rule: field['x-rule'],
    }),
  )
  return (input) => {
    const given = isObject(input) ? input : {}
    const errors: FieldErrors = {}
    const value: Record<string, string> = {}
    for (const { name, pattern, rule } of fields) {
      const text = Object.hasOwn(given, name) ? given[name] : undefined
      const problem = findProblem(text, pattern, rule)
      if (problem === undefined) value[name] = (text as string).trim()
      else errors[name] = [`${name} ${problem}`]
    }
    if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
    return value as Static<S>
  }
}

/** The problem of a field, as the rest of a sentence that begins with its name. */
function findProblem(text: unknown, pattern: RegExp, rule: string): string | undefined {
  if (text === undefined || text === null) return 'is required'
  if (typeof text !== 'string') return 'must be a string'
  const trimmed = text.trim()
  if (trimmed === '') return 'is required'
  if (trimmed.length > INPUT_MAX_LENGTH) return rule
  return pattern.test(trimmed) ? undefined : rule
}

const isObject = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input)
