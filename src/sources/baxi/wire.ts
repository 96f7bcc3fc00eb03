import { Type } from '../../contract/schema.ts'
import { loose, loosely, part } from '../wire.ts'

/** {"status": "success", "message": "Successful", "code": 200, "data": […]} */
export const Envelope = part({ status: loose, code: loose, data: loose })

/** A bouquet or an add-on. A year costs less than twelve months: only the price of one month is ours. */
export const Packages = Type.Array(
  part({
    code: Type.String(),
    name: Type.String(),
    availablePricingOptions: Type.Array(loosely('monthsPaidFor', 'price')),
  }),
)

/** Not confirmed by the vendor’s documents. */
export const Bundles = Type.Array(
  part({ datacode: loose, name: Type.String(), price: loose, validity: loose }),
)

/** Vouchers: the amount is what they are worth, and what they cost. */
export const Pins = Type.Array(part({ amount: loose, description: loose }))
