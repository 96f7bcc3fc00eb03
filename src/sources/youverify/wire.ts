import { Type } from '../../contract/schema.ts'
import { toText } from '../record.ts'
import { objectWith, optionalFields } from '../wire.ts'

/** The vendor's own status. NaN when there is none: the reply is not from Youverify. */
export const toCode = (body: unknown): number =>
  Number(toText((body as { readonly statusCode?: unknown } | null | undefined)?.statusCode) || Number.NaN)

/** By the documentation, every reply has `success`: true with a result, false with an error. */
export const saysFailed = (body: unknown): boolean => {
  const success = (body as { readonly success?: unknown } | null | undefined)?.success
  return success !== undefined && success !== true
}

/** {"success": false, "message": "Record not found"} with 200. */
export const isErrorWithoutData = (body: unknown): boolean => {
  const data = (body as { readonly data?: unknown } | null | undefined)?.data
  return saysFailed(body) && (data === undefined || data === null)
}

type Address = { readonly [Name in 'addressLine' | 'lga' | 'state']?: unknown }

/** Often null. A value of another type has none of these keys, and is read as empty. */
const address = Type.Optional(Type.Unsafe<Address | null>({}))

/** The fields of both products. `idNumber` is the requested number; `id` is the vendor's reference. */
const person = optionalFields(
  'id',
  'status',
  'reason',
  'idNumber',
  'firstName',
  'middleName',
  'lastName',
  'gender',
  'mobile',
  'dateOfBirth',
)

/** {"success": true, "statusCode": 200, "message": "success", "data": {"status": "found", …}} */
export const NinReply = objectWith({
  data: objectWith({
    ...person.properties,
    ...optionalFields('vNIN', 'religion', 'nokState', 'birthLGA', 'birthState', 'birthCountry').properties,
    address,
  }),
})

export const BvnReply = objectWith({
  data: objectWith({
    ...person.properties,
    ...optionalFields('email', 'nin', 'enrollmentBranch', 'enrollmentInstitution', 'nameOnCard').properties,
    ...optionalFields('registrationDate', 'levelOfAccount', 'watchListed', 'otherMobile').properties,
    ...optionalFields('lgaOfOrigin', 'stateOfOrigin', 'maritalStatus').properties,
    address,
  }),
})
