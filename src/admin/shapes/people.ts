import { type Static, Type } from '../../contract/schema.ts'
import { VIRTUAL_NIN_PATTERN } from '../../contract/virtual-nin.ts'
import { Kind, strict } from './fields.ts'
import { Password } from './session.ts'

const person = {
  kind: Kind,
  number: Type.String({
    pattern: `^(?:[0-9]{11}|${VIRTUAL_NIN_PATTERN})$`,
    'x-rule': 'must be 11 digits, or a virtual NIN',
  }),
  reason: Type.String({ minLength: 10, maxLength: 200, 'x-rule': 'must have 10 to 200 characters' }),
}

export const PersonReportRequest = Type.Object(person, strict)
/** The password is absent for an account without one, which confirms in another way. */
export const PersonAction = Type.Object({ ...person, password: Type.Optional(Password) }, strict)

export const ErasedPerson = Type.Object({
  records: Type.Integer(),
  pictures: Type.Integer(),
  kept_answers: Type.Integer(),
  reused_results: Type.Integer(),
  queued_verifications: Type.Integer(),
  /** What is left, and why. */
  remains: Type.Array(Type.Object({ what: Type.String(), why: Type.String() })),
  /** Whether the erasure is in the file by which a restore applies it again. A server adds it within a minute. */
  is_in_file: Type.Boolean(),
})
export type ErasedPerson = Static<typeof ErasedPerson>
