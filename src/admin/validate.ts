import { createRequire } from 'node:module'
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import type { TObject } from '../contract/schema.ts'
import { AppError, type FieldErrors } from '../errors.ts'

const require = createRequire(import.meta.url)

/** Loaded with the first input, so that a server starts sooner. */
function openValidator(): Ajv {
  const ajv = new (require('ajv') as typeof import('ajv')).Ajv({
    allErrors: true,
    keywords: ['x-rule'],
    verbose: true,
  })
  ajv.addFormat('date-time', (text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)))
  return ajv
}

/** Validates the input of admin routes. Reports every bad field, and never repeats a value. */
export function createAdminValidate(): (shape: TObject, input: unknown) => unknown {
  let ajv: Ajv | undefined
  const compile = (shape: TObject) => {
    ajv ??= openValidator()
    return ajv.compile(shape)
  }
  const checks = new Map<TObject, ValidateFunction>()
  return (shape, input) => {
    const check = checks.get(shape) ?? compile(shape)
    checks.set(shape, check)
    if (check(input)) return input
    throw new AppError('validation_failed', { errors: toFieldErrors(check.errors ?? []) })
  }
}

function toFieldErrors(errors: readonly ErrorObject[]): FieldErrors {
  const found: FieldErrors = {}
  for (const error of errors) {
    const name = toName(error)
    found[name] ??= [`${name} ${toProblem(error)}`]
  }
  return found
}

/** `/subject/number` becomes `subject.number`. For a missing or unknown field, the name of that field. */
function toName({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>
  const path = instancePath.split('/').filter((part) => part !== '')
  return [...path, missingProperty ?? additionalProperty ?? []].flat().join('.') || 'body'
}

function toProblem({ keyword, parentSchema, message }: ErrorObject): string {
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'is not a known field'
  const rule = (parentSchema as { 'x-rule'?: string } | undefined)?.['x-rule']
  return rule ?? message ?? 'is not valid'
}
