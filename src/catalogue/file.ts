import { basename } from 'node:path'
import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { SmeBundle, TV_TYPES, TvAddOnsRequest, type TvType } from '../contract/bundles.ts'
import { exactly } from '../contract/field.ts'

/** Text that must pass a check; `rule` completes the sentence "<path> …" an operator reads when it does not. */
const ruled = (rule: string, check: (value: string) => boolean) =>
  Type.Refine(Type.String(), check, (value) => `${rule}, not ${JSON.stringify(value)}`)

const matching = (rule: string, pattern: RegExp) => ruled(rule, (value) => pattern.test(value))

const AsOf = ruled('must be a real date such as "2026-02-01"', isRealDate)
const Price = matching('must be a price in naira such as "450" or "99.50"', /^\d+(\.\d{1,2})?$/)
const Label = matching('must not be blank', /\S/)
const Code = matching('must be a code without white space', /^\S+$/)
const Segment = matching('must be lower-case letters, digits and hyphens', /^[a-z0-9][a-z0-9-]*$/)
// A code that a request could never carry is a mistake in the file.
const TvCode = ruled('must be 2 to 40 letters, digits, hyphens or underscores', (value) =>
  Value.Check(TvAddOnsRequest.properties.productCode, value),
)
const TvTypeName = Type.Refine(
  Type.Unsafe<TvType>({ type: 'string' }),
  (value) => TV_TYPES.includes(value),
  () => `must be one of ${TV_TYPES.join(', ')}`,
)

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

/** A sentence for the operator: which file, where in it, what is wrong. */
export class CatalogueFileError extends Error {
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

function parseShape<T extends TSchema>(shape: T, file: string, content: unknown): Static<T> {
  const [problem] = Value.Errors(shape, content)
  if (problem === undefined) return content as Static<T>
  // TypeBox says "schema is false" of a field that the shape does not have.
  const what = problem.keyword === 'boolean' ? 'is not a known field' : problem.message
  throw problemAt(file, problem.instancePath, what)
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
