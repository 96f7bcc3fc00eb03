import { exactly, input, request, text } from './field.ts'
import { type Static, Type } from './schema.ts'

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
