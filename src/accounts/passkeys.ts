import { createHmac, type KeyObject } from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { AdminError } from '../contract/admin-error.ts'
import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { type Challenge, createChallenge, readChallenge } from './challenge.ts'
import type { PasskeySite } from './passkey-site.ts'
import type { PasskeyRow, PasskeyTable } from './passkey-table.ts'

/** Loaded with the first use, so that the server starts faster and needs less memory. */
const load = () => import('@simplewebauthn/server')

/** `none` is what we ask for; some authenticators attest themselves. Other formats would check certificates of makers. */
const ATTESTATIONS = ['none', 'packed']

const toUserId = (key: KeyObject, account: string) =>
  new Uint8Array(
    createHmac('sha256', key)
      .update(JSON.stringify(['passkey-user', account]))
      .digest(),
  )

/** The options with which a browser makes a passkey. */
export async function createRegistrationOptions(
  key: KeyObject,
  { host }: PasskeySite,
  account: string,
  existing: readonly PasskeyRow[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await load()
  return generateRegistrationOptions({
    rpName: 'Tabbat',
    rpID: host,
    userName: account,
    userID: toUserId(key, account),
    challenge: createChallenge(key, `add ${account}`),
    excludeCredentials: existing.map(({ id, transports }) => ({ id, transports: [...transports] })),
    // The device checks a fingerprint or a PIN, and finds the account by itself: the passkey alone signs in.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** The passkey, and the challenge that it answers. Throws `wrong_passkey` if it is not a new passkey for this account. */
export async function readRegistration(
  key: KeyObject,
  { host, origin }: PasskeySite,
  account: string,
  response: RegistrationResponseJSON,
): Promise<{ readonly passkey: Omit<PasskeyRow, 'name'>; readonly challenge: Challenge }> {
  const { verifyRegistrationResponse } = await load()
  let challenge: Challenge | undefined
  await refuseAttestation(response)
  const { registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: (text) => {
      challenge = readChallenge(key, `add ${account}`, text)
      return challenge !== undefined
    },
    expectedOrigin: origin,
    expectedRPID: host,
    requireUserVerification: true,
  }).catch(refuse)
  if (!registrationInfo || !challenge) throw new AdminError('wrong_passkey')
  const { id, publicKey, counter, transports = [] } = registrationInfo.credential
  const known = transports.filter((name) => /^[a-z-]{1,20}$/.test(name))
  const times = { createdAt: steadyNow(), lastUsedAt: undefined }
  return { passkey: { id, account, host, publicKey, counter, transports: known, ...times }, challenge }
}

async function refuseAttestation({ response }: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const bytes = new Uint8Array(Buffer.from(response.attestationObject, 'base64url'))
  const toFormat = () => decodeAttestationObject(bytes).get('fmt')
  const format = await Promise.resolve().then(toFormat).catch(refuse)
  if (!ATTESTATIONS.includes(format)) throw new UserError('This kind of passkey is not supported.')
}

/** The options with which a browser uses a passkey: any of the site, or one of those that are given. */
export async function createUseOptions(
  key: KeyObject,
  { host }: PasskeySite,
  purpose: string,
  allowed: readonly PasskeyRow[] = [],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await load()
  return generateAuthenticationOptions({
    rpID: host,
    challenge: createChallenge(key, purpose),
    userVerification: 'required',
    allowCredentials: allowed.map(({ id, transports }) => ({ id, transports: [...transports] })),
  })
}

/** The passkey that was used. Throws `wrong_passkey` if it is unknown, its signature is wrong, or its answer was sent before. */
export async function usePasskey(
  key: KeyObject,
  table: PasskeyTable,
  { host, origin }: PasskeySite,
  purpose: string,
  response: AuthenticationResponseJSON,
): Promise<PasskeyRow> {
  const passkey = await table.find(response.id)
  if (!passkey) throw new AdminError('wrong_passkey')
  const { verifyAuthenticationResponse } = await load()
  let challenge: Challenge | undefined
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: (text) => {
      challenge = readChallenge(key, purpose, text)
      return challenge !== undefined
    },
    expectedOrigin: origin,
    expectedRPID: host,
    credential: { id: passkey.id, publicKey: new Uint8Array(passkey.publicKey), counter: passkey.counter },
    requireUserVerification: true,
  }).catch(refuse)
  if (!verified || !challenge) throw new AdminError('wrong_passkey')
  const { id, expiresAt } = challenge
  const use = {
    id: passkey.id,
    counter: authenticationInfo.newCounter,
    challenge: id,
    expiresAt,
    at: steadyNow(),
  }
  if (!(await table.use(use))) throw new AdminError('wrong_passkey')
  return passkey
}

/** The text of the library may repeat what the caller sent. */
function refuse(): never {
  throw new AdminError('wrong_passkey')
}
