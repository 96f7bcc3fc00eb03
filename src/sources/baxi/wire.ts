import { Type } from '../../contract/schema.ts'
import { anyValue, objectWith, optionalFields } from '../wire.ts'

/** {"status": "success", "message": "Successful", "code": 200, "data": […]} */
export const Envelope = objectWith({ status: anyValue, code: anyValue, data: anyValue })

/** A bouquet or an add-on. Only the price of one month is used: a year costs less than twelve months. */
export const Packages = Type.Array(
  objectWith({
    code: Type.String(),
    name: Type.String(),
    availablePricingOptions: Type.Array(optionalFields('monthsPaidFor', 'price')),
  }),
)

/** Not confirmed by the vendor’s documentation. */
export const Bundles = Type.Array(
  objectWith({ datacode: anyValue, name: Type.String(), price: anyValue, validity: anyValue }),
)

/** Vouchers. The amount is both value and price; `available` is how many can be bought. */
export const Pins = Type.Array(objectWith({ amount: anyValue, description: anyValue, available: anyValue }))
