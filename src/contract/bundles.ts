import { exactly, input, request, type Static, Type, text } from './schema.ts'

/** The catalogue decides, not a pattern: an unknown provider is 404. */
export const ProviderPath = request(
  { provider: Type.String({ description: 'Internet provider, in any case.', examples: ['smile'] }) },
  'The provider whose bundles are listed.',
)

export const NoInput = request({}, 'Nothing.')

export const InternetBundle = exactly({
  type: text('Provider type marker, the same for all items of one look-up.', 'SMILE'),
  code: text('Bundle code.', '624'),
  amount: text('Amount in naira, as text.', '450'),
  price: text('Price in naira, as text; equal to the amount.', '450'),
  description: text('Label of the bundle; may carry leading or trailing spaces.'),
  duration: text('How long the bundle lasts; may be empty.', '30 days'),
})
export type InternetBundle = Static<typeof InternetBundle>

export const InternetBundlesResponse = exactly({
  success: Type.Literal(true),
  data: exactly({
    status: text('Status text.', 'success'),
    message: text('Message text.', 'Successful'),
    code: Type.Literal(200),
    data: Type.Array(InternetBundle),
  }),
})
export type InternetBundlesResponse = Static<typeof InternetBundlesResponse>

export const SmeBundle = exactly({
  description: text('Label of the bundle.', 'SME DATA 500MB'),
  code: text('Code of the bundle.', 'sme_data_500mb'),
})
export type SmeBundle = Static<typeof SmeBundle>

export const SmeBundlesResponse = exactly({
  success: Type.Literal(true),
  status: text('Status text.', 'success'),
  message: text('Message text.', 'Successful'),
  data: Type.Array(SmeBundle),
})
export type SmeBundlesResponse = Static<typeof SmeBundlesResponse>

export const TV_TYPES = ['DSTV', 'GOTV', 'STARTIMES', 'SHOWMAX'] as const
export type TvType = (typeof TV_TYPES)[number]

const anyCase = (word: string) => [...word].map((letter) => `[${letter}${letter.toLowerCase()}]`).join('')

export const TvAddOnsRequest = request(
  {
    type: input({
      pattern: `^(?:${TV_TYPES.map(anyCase).join('|')})$`,
      rule: `must be one of ${TV_TYPES.join(', ')}`,
      description: `TV provider: ${TV_TYPES.join(', ')}, in any case.`,
      example: 'DSTV',
    }),
    productCode: input({
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{1,39}$',
      rule: 'must be 2 to 40 letters, digits, hyphens or underscores',
      description: 'Code of the base product, in any case.',
      example: 'COMPE36',
    }),
  },
  'The base product whose add-ons are listed.',
)
export type TvAddOnsRequest = Static<typeof TvAddOnsRequest>

export const TvAddOn = exactly({
  add_on_product_code: text('Code of the add-on.', 'HDPVRE36'),
  product_code: text('Code of the base product.', 'COMPE36'),
  name: text('Name of the add-on.', 'HDPVR/XtraView'),
  price: text('Price in naira, as text.', '6000'),
  type: text('TV provider type marker.', 'DSTV'),
})
export type TvAddOn = Static<typeof TvAddOn>

export const TvAddOnsResponse = exactly({
  success: Type.Literal(true),
  status: text('Status text.', 'success'),
  message: text('Message text that names the product code.'),
  data: Type.Array(TvAddOn),
})
export type TvAddOnsResponse = Static<typeof TvAddOnsResponse>

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
