import { createRequire } from 'node:module'
import { basename } from 'node:path'
import type { Ajv, ErrorObject } from 'ajv'
import { SmeBundle, TV_TYPES, TvAddOnsRequest, type TvType } from '../contract/bundles.ts'
import { exactly } from '../contract/field.ts'
import { type Static, type TSchema, Type } from '../contract/schema.ts'
import { Refusal } from '../errors.ts'

/** Text that must fit a pattern; `rule` completes the sentence "<path> …" an operator reads when it does not. */
const matching = (rule: string, pattern: string) => Type.String({ pattern, 'x-rule': rule })

const AS_OF_RULE = 'must be a real date such as "2026-02-01"'
const AsOf = matching(AS_OF_RULE, '^\\d{4}-\\d{2}-\\d{2}$')
const Price = matching('must be a price in naira such as "450" or "99.50"', '^\\d+(\\.\\d{1,2})?$')
const Label = matching('must not be blank', '\\S')
const Code = matching('must be a code without white space', '^\\S+$')
const Segment = matching('must be lower-case letters, digits and hyphens', '^[a-z0-9][a-z0-9-]*$')
// A code that a request could never carry is a mistake in the file.
const TvCode = TvAddOnsRequest.properties.productCode
const TvTypeName = Type.Unsafe<TvType>({
  type: 'string',
  enum: TV_TYPES,
  'x-rule': `must be one of ${TV_TYPES.join(', ')}`,
})

const dated = { as_of: AsOf, note: Type.Optional(Label) }

export const InternetFile = exactly({
  ...dated,
  segment: Segment,
  type: Label,
  bundles: Type.Array(exactly({ code: Code, price: Price, description: Label, duration: Type.String() })),
})
export type InternetFile = Static<typeof InternetFile>

export const SmeFile = exactly({ ...dated, bundles: Type.Array(SmeBundle) })
export type SmeFile = Static<typeof SmeFile>

export const TvFile = exactly({
  ...dated,
  type: TvTypeName,
  products: Type.Array(exactly({ code: TvCode, name: Label, price: Price })),
  add_ons: Type.Array(exactly({ code: TvCode, name: Label, price: Price, products: Type.Array(TvCode) })),
})
export type TvFile = Static<typeof TvFile>

/** What a vendor may bring: everything but the SME list, which is the contract's. */
export type CatalogueFiles = {
  readonly internet: readonly InternetFile[]
  readonly tv: readonly TvFile[]
}

/** A sentence for the operator: which file, where in it, what is wrong. */
export class CatalogueFileError extends Refusal {
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

/** The contract fixes this list, so the file may not drift from it. */
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
    const stranger = addOn.products.find((code) => !known.has(code))
    const path = `/add_ons/${index}/products`
    requireThat(
      stranger === undefined,
      file,
      path,
      `names "${stranger}", which is not a product of this file`,
    )
  }
  return parsed
}

const require = createRequire(import.meta.url)
let validator: Ajv | undefined

/** Loaded when a list is checked: with the lists that it came with, a server starts sooner without it. */
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
  // A date such as February 30 is read as a day in March, so it must come back as it went in.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value)
}
