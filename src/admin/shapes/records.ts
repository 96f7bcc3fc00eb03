import { type Static, Type } from '../../contract/schema.ts'
import { Kind, strict } from './fields.ts'
import { Password } from './session.ts'

export const RecordCounts = Type.Object({
  nin: Type.Integer(),
  bvn: Type.Integer(),
  pictures: Type.Integer(),
})
const Number11 = Type.String({ pattern: '^[0-9]{11}$', 'x-rule': 'must be 11 digits' })
export const LookUpRecordRequest = Type.Object({ kind: Kind, number: Number11 }, strict)
export const RevealRecordRequest = Type.Object(
  {
    kind: Kind,
    number: Number11,
    reason: Type.String({ minLength: 10, maxLength: 200, 'x-rule': 'must have 10 to 200 characters' }),
    /** Needed unless the account signs in by single sign-on. */
    password: Type.Optional(Password),
  },
  strict,
)
/** Fields by their dotted names. A masked value is **** if the field is filled, else empty. */
export const RecordView = Type.Object({
  found: Type.Boolean(),
  fields: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
})
export type RecordView = Static<typeof RecordView>
