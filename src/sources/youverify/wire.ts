import { Type } from '../../contract/schema.ts'
import { toText } from '../record.ts'
import { loosely, part } from '../wire.ts'

/** The vendor's own status. NaN when there is none: then it is not Youverify who answers. */
export const toCode = (body: unknown): number =>
  Number(toText((body as { readonly statusCode?: unknown } | null | undefined)?.statusCode) || Number.NaN)

/** The documents have it in every answer: true beside a result, false beside an error. */
export const saysFailed = (body: unknown): boolean => {
  const success = (body as { readonly success?: unknown } | null | undefined)?.success
  return success !== undefined && success !== true
}

type Address = { readonly [Name in 'addressLine' | 'lga' | 'state']?: unknown }

/** Often null. Whatever else it may be has none of these keys, and is empty then. */
const address = Type.Optional(Type.Unsafe<Address | null>({}))

/** What both products say about a person. The person that was asked about is `idNumber`; `id` is the vendor's reference. */
const person = loosely(
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
export const NinReply = part({
  data: part({
    ...person.properties,
    ...loosely('religion', 'nokState', 'birthLGA', 'birthState', 'birthCountry').properties,
    address,
  }),
})

export const BvnReply = part({
  data: part({
    ...person.properties,
    ...loosely('email', 'nin', 'enrollmentBranch', 'enrollmentInstitution').properties,
    address,
  }),
})
