import { SmeBundle, TV_TYPES, TvAddOnsRequest, type TvType } from './bundles.ts'
import { exactly } from './field.ts'
import { type Static, Type } from './schema.ts'

/** Text that must fit a pattern; `rule` completes the sentence "<path> …" an operator reads when it does not. */
const matching = (rule: string, pattern: string) => Type.String({ pattern, 'x-rule': rule })

export const AS_OF_RULE = 'must be a real date such as "2026-02-01"'
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

/** The lists that a vendor may change. The SME list is fixed by the contract. */
export type CatalogueFiles = {
  readonly internet: readonly InternetFile[]
  readonly tv: readonly TvFile[]
}
