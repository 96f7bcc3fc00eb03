import { type Static, Type } from '../../contract/schema.ts'
import { strict, Time } from './fields.ts'

/** Bytes as base64url. */
const Bytes = Type.String({ pattern: '^[A-Za-z0-9_-]*$', maxLength: 8192 })
const CredentialId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,1400}$' })

/** The answer of navigator.credentials.create(), as JSON. Browsers add more fields. */
const RegistrationResponse = Type.Object({
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: Bytes,
    attestationObject: Bytes,
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10 })),
  }),
  clientExtensionResults: Type.Object({}),
})

/** The answer of navigator.credentials.get(), as JSON. */
const UseResponse = Type.Object({
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: Bytes,
    authenticatorData: Bytes,
    signature: Bytes,
    userHandle: Type.Optional(Bytes),
  }),
  clientExtensionResults: Type.Object({}),
})
export const UsePasskey = Type.Object({ response: UseResponse }, strict)

export const AddPasskey = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: 60 }), response: RegistrationResponse },
  strict,
)

export const RemovePasskey = Type.Object({ id: CredentialId }, strict)

/** For navigator.credentials of the browser: see WebAuthn Level 3. */
export const PasskeyOptions = Type.Object({ challenge: Bytes }, { additionalProperties: true })

export const Passkey = Type.Object({
  id: CredentialId,
  name: Type.String(),
  /** The host name of the console for which it works. */
  host: Type.String(),
  created_at: Time,
  last_used_at: Type.Nullable(Time),
})
export type Passkey = Static<typeof Passkey>
