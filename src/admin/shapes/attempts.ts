import { type Static, Type } from '../../contract/schema.ts'
import { Kind, strict } from './fields.ts'

export const UnlockRequest = Type.Object(
  {
    kind: Kind,
    number: Type.String({ minLength: 11, maxLength: 20, 'x-rule': 'must be 11 digits, or a virtual NIN' }),
    reason: Type.String({ minLength: 10, maxLength: 200, 'x-rule': 'must have 10 to 200 characters' }),
  },
  strict,
)
/** 0: the number was not locked. */
export const Unlocked = Type.Object({ failed_matches: Type.Integer() })
export type Unlocked = Static<typeof Unlocked>
