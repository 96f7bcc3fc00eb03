import { Type } from '../../contract/schema.ts'
import { anyValue, objectWith, optionalFields } from '../wire.ts'

/** {"response_description": "000", "content": {…}}; an error has its code in `code` instead. */
export const Envelope = objectWith({ response_description: anyValue, code: anyValue, content: anyValue })

const Variation = objectWith({ variation_code: anyValue, name: Type.String(), variation_amount: anyValue })

/** The vendor spells the name of the list in two ways, sometimes both in one reply. */
export const Content = objectWith({
  variations: Type.Optional(Type.Array(Variation)),
  varations: Type.Optional(Type.Array(Variation)),
  ...optionalFields('serviceID').properties,
})
