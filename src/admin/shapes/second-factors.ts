import { type Static, Type } from '../../contract/schema.ts'
import { strict, Time } from './fields.ts'
import { Passkey } from './passkeys.ts'

/** The code of an authenticator app, or a recovery code. */
export const FactorCode = Type.String({
  maxLength: 40,
  pattern: '^[0-9A-Za-z\\s-]*$',
  'x-rule': 'must be a code of six digits or a recovery code',
})

export const FactorList = Type.Object({
  /** Since when the account has an authenticator app; null if it has none. */
  totp_since: Type.Nullable(Time),
  passkeys: Type.Array(Passkey),
  /** Recovery codes that were not used yet. */
  recovery_codes: Type.Integer(),
})
export type FactorList = Static<typeof FactorList>

/** `url` is for the picture that an authenticator app scans. */
export const TotpSetup = Type.Object({ secret: Type.String(), url: Type.String(), token: Type.String() })
export type TotpSetup = Static<typeof TotpSetup>

export const ConfirmTotp = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 200 }), code: FactorCode },
  strict,
)

/** Returned only here. Empty if the account has some already. */
export const RecoveryCodes = Type.Object({ recovery_codes: Type.Array(Type.String()) })
export type RecoveryCodes = Static<typeof RecoveryCodes>
