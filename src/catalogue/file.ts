import { createRequire } from 'node:module'
import { basename } from 'node:path'
import type { Ajv, ErrorObject } from 'ajv'
import { AS_OF_RULE, InternetFile, SmeFile, TvFile } from '../contract/bundles.ts'
import type { Static, TSchema } from '../contract/schema.ts'
import { UserError } from '../errors.ts'

/** A sentence for the operator: which file, where in it, what is wrong. */
export class CatalogueFileError extends UserError {
  override readonly name = 'CatalogueFileError'
}

export function parseInternetFile(file: string, content: unknown): InternetFile {
  const parsed = parseShape(InternetFile, file, content)
  // One file per segment, named after it: two files can then never claim the same segment.
  requireThat(parsed.segment === basename(file, '.json'), file, '/segment', 'must equal the name of the file')
  requireUniqueCodes(file, '/bundles', parsed.bundles)
  return parsed
}

const SME_SIZES = (
  '50MB 150MB 250MB 500MB 1GB 2GB 3GB 5GB 10GB 12GB 15GB 20GB ' +
  '25GB 30GB 40GB 50GB 60GB 70GB 75GB 80GB 90GB 100GB'
).split(' ')

/** The contract fixes this list. */
export function parseSmeFile(file: string, content: unknown): SmeFile {
  const parsed = parseShape(SmeFile, file, content)
  requireUniqueCodes(file, '/bundles', parsed.bundles)
  const count = SME_SIZES.length
  requireThat(parsed.bundles.length === count, file, '/bundles', `must list the contract's ${count} sizes`)
  for (const [index, size] of SME_SIZES.entries()) {
    const bundle = parsed.bundles[index]
    const fits =
      bundle?.description === `SME DATA ${size}` && bundle.code === `sme_data_${size.toLowerCase()}`
    requireThat(fits, file, `/bundles/${index}`, `must be the contract's ${size} bundle`)
  }
  return parsed
}

export function parseTvFile(file: string, content: unknown): TvFile {
  const parsed = parseShape(TvFile, file, content)
  const named = parsed.type.toLowerCase() === basename(file, '.json')
  requireThat(named, file, '/type', 'must equal the name of the file in upper case')
  requireUniqueCodes(file, '/products', parsed.products)
  requireUniqueCodes(file, '/add_ons', parsed.add_ons)
  const known = new Set(parsed.products.map((product) => product.code))
  for (const [index, addOn] of parsed.add_ons.entries()) {
    const unknown = addOn.products.find((code) => !known.has(code))
    const path = `/add_ons/${index}/products`
    requireThat(unknown === undefined, file, path, `names "${unknown}", which is not a product of this file`)
  }
  return parsed
}

const require = createRequire(import.meta.url)
let validator: Ajv | undefined

/** Loaded when a list is checked: with the shipped lists, a server starts sooner without it. */
function openValidator(): Ajv {
  validator ??= new (require('ajv') as typeof import('ajv')).Ajv({ strict: false, verbose: true })
  return validator
}

function parseShape<T extends TSchema & { properties: unknown }>(
  shape: T,
  file: string,
  content: unknown,
): Static<T> {
  const ajv = openValidator()
  if (!ajv.validate(shape, content)) throw toProblem(file, ajv.errors?.[0])
  const { as_of } = content as { as_of: string }
  requireThat(isRealDate(as_of), file, '/as_of', `${AS_OF_RULE}, not "${as_of}"`)
  return content as Static<T>
}

/** Our own rule where the shape has one, else what is missing, unknown or of the wrong type. */
function toProblem(file: string, problem: ErrorObject | undefined): CatalogueFileError {
  const { instancePath = '', keyword, params, message = 'does not fit' } = problem ?? {}
  const rule = (problem?.parentSchema as { 'x-rule'?: string } | undefined)?.['x-rule']
  if (keyword === 'additionalProperties')
    return problemAt(file, `${instancePath}/${params?.additionalProperty}`, 'is not a known field')
  if (keyword === 'required')
    return problemAt(file, `${instancePath}/${params?.missingProperty}`, 'is missing')
  if (rule === undefined || keyword === 'type') return problemAt(file, instancePath, message)
  return problemAt(file, instancePath, `${rule}, not ${JSON.stringify(problem?.data)}`)
}

function requireUniqueCodes(file: string, path: string, items: readonly { code: string }[]) {
  const seen = new Set<string>()
  for (const [index, { code }] of items.entries()) {
    const key = code.toLowerCase()
    requireThat(
      !seen.has(key),
      file,
      `${path}/${index}/code`,
      `repeats the code "${code}" (case does not count)`,
    )
    seen.add(key)
  }
}

function requireThat(holds: boolean, file: string, path: string, what: string) {
  if (!holds) throw problemAt(file, path, what)
}

function problemAt(file: string, path: string, what: string) {
  return new CatalogueFileError(`${file}: ${path === '' ? 'the file' : path} ${what}.`)
}

function isRealDate(value: string) {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN
  // February 30 is parsed as a day in March, so the parsed date must equal the text.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value)
}
