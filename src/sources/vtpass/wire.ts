import { Type } from '../../contract/schema.ts'
import { loose, loosely, part } from '../wire.ts'

/** {"response_description": "000", "content": {…}}; an error has its number in `code` instead. */
export const Envelope = part({ response_description: loose, code: loose, content: loose })

const Variation = part({ variation_code: loose, name: Type.String(), variation_amount: loose })

/** The vendor spells the list in two ways, sometimes in both at once. */
export const Content = part({
  variations: Type.Optional(Type.Array(Variation)),
  varations: Type.Optional(Type.Array(Variation)),
  ...loosely('serviceID').properties,
})
