import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { AdminError } from '../contract/error.ts'
import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import type { Actor } from '../contract/role.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { AppError, UserError } from '../errors.ts'
import type { AccountRow } from './account-table.ts'
import { withAudit } from './accounts.ts'
import type { PasskeyRow, PasskeyTable } from './passkey-table.ts'
import {
  createHashedCodes,
  type FactorDeps,
  refuseLastFactor,
  refuseWithoutPassword,
} from './second-factors.ts'
import type { Sessions } from './sessions.ts'

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

/**
 * Whether the authenticator holds the user id that it was given for this account. The id depends on the root key: who can only write to
 * the database cannot add a passkey of his own to an account. An authenticator always sends it where it finds the account by itself.
 */
function isUserOf(key: KeyObject, account: string, { response }: AuthenticationResponseJSON): boolean {
  const given = Buffer.from(response.userHandle ?? '', 'base64url')
  const expected = toUserId(key, account)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** The options with which a browser makes a passkey. */
async function createRegistrationOptions(
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
async function readRegistration(
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

/** The options with which a browser uses a passkey. None is named: an authenticator sends its user id only where it finds the account by itself. */
async function createUseOptions(
  key: KeyObject,
  { host }: PasskeySite,
  purpose: string,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await load()
  return generateAuthenticationOptions({
    rpID: host,
    challenge: createChallenge(key, purpose),
    userVerification: 'required',
  })
}

/** The passkey that was used. Throws `wrong_passkey` if it is unknown, its signature or user id is wrong, or its answer was sent before. */
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
  if (!verified || !challenge || !isUserOf(key, passkey.account, response))
    throw new AdminError('wrong_passkey')
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

/** A challenge for a passkey: random bytes, the time when it expires, and a signature over both and its purpose. */
type Challenge = { readonly id: string; readonly expiresAt: number }

const RANDOM_BYTES = 24
const HEAD_BYTES = RANDOM_BYTES + 8
const MAC_BYTES = 32
const LIFE_MS = 5 * MINUTE_MS

const toMac = (key: KeyObject, purpose: string, head: Uint8Array) =>
  createHmac('sha256', key)
    .update(JSON.stringify(['challenge', purpose]))
    .update(head)
    .digest()

/** Nothing is stored: requests of callers that are not signed in must not fill the database. */
export function createChallenge(key: KeyObject, purpose: string): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(HEAD_BYTES)
  randomBytes(RANDOM_BYTES).copy(head)
  head.writeDoubleBE(steadyNow() + LIFE_MS, RANDOM_BYTES)
  return new Uint8Array(Buffer.concat([head, toMac(key, purpose, head)]))
}

/** Undefined if it is not ours, is for another purpose or has expired. Whether it was used is in the store. */
export function readChallenge(key: KeyObject, purpose: string, text: string): Challenge | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== HEAD_BYTES + MAC_BYTES) return undefined
  const head = bytes.subarray(0, HEAD_BYTES)
  if (!timingSafeEqual(bytes.subarray(HEAD_BYTES), toMac(key, purpose, head))) return undefined
  const expiresAt = head.readDoubleBE(RANDOM_BYTES)
  return expiresAt > steadyNow() ? { id: head.toString('hex', 0, RANDOM_BYTES), expiresAt } : undefined
}

/** The address of the console in the browser. A passkey is bound to the host name. */
export type PasskeySite = { readonly host: string; readonly origin: string }

/** From the Host header, which the listener has checked. */
export function toPasskeySite(hostHeader: string, isSecure: boolean): PasskeySite {
  const text = hostHeader.toLowerCase()
  const host = text.replace(/:\d{1,5}$/, '')
  if (host.startsWith('[') || isIP(host) !== 0)
    throw new UserError(
      'Passkeys need a host name, and this address is a number. Open the console as http://localhost, or under its host name with https.',
    )
  if (!isSecure && host !== 'localhost')
    throw new UserError('Passkeys need https, or the host name localhost. See docs/console.md.')
  return { host, origin: `${isSecure ? 'https' : 'http'}://${text}` }
}

type NewPasskey = { readonly name: string; readonly response: RegistrationResponseJSON }

/** What accounts do with passkeys. Those that use one throw `wrong_passkey`. */
export type PasskeyActions = {
  readonly beginAdd: (actor: Actor, site: PasskeySite) => Promise<PublicKeyCredentialCreationOptionsJSON>
  /** Resolves to the recovery codes if these are the first; they are shown once. Ends the other sessions. */
  readonly finishAdd: (actor: Actor, site: PasskeySite, added: NewPasskey) => Promise<readonly string[]>
  readonly remove: (actor: Actor, id: string, isRequired: boolean) => Promise<void>
  readonly beginSignIn: (site: PasskeySite) => Promise<PublicKeyCredentialRequestOptionsJSON>
  readonly findSigner: (site: PasskeySite, response: AuthenticationResponseJSON) => Promise<AccountRow>
  readonly beginConfirm: (actor: Actor, site: PasskeySite) => Promise<PublicKeyCredentialRequestOptionsJSON>
  /** Instead of the password: holds for some minutes of this session. */
  readonly confirm: (actor: Actor, site: PasskeySite, response: AuthenticationResponseJSON) => Promise<void>
}

export function createPasskeyActions(
  { context: { audit, store }, key }: FactorDeps,
  sessions: Pick<Sessions, 'confirm' | 'toKept'>,
): PasskeyActions {
  const { passkeys, accounts } = store
  const change = <T>({ name }: Actor, phase: string, detail: string, work: () => Promise<T>) =>
    withAudit({ audit, by: name }, { phase, detail: `${name}, passkey ${detail}` }, work)
  return {
    beginAdd: async (actor, site) => {
      const { name } = actor
      refuseWithoutPassword(actor)
      return createRegistrationOptions(key(), site, name, await passkeys.list(name))
    },
    finishAdd: async (actor, site, { name: label, response }) => {
      const name = readName(label)
      refuseWithoutPassword(actor)
      const { passkey, challenge } = await readRegistration(key(), site, actor.name, response)
      const { codes, hashes } = createHashedCodes(key(), actor.name)
      const { hasNewCodes } = await change(actor, 'second_factor_added', name, async () => {
        const added = await passkeys.add({
          passkey: { ...passkey, name },
          recoveryHashes: hashes,
          ...sessions.toKept(actor, 'passkey'),
          challenge: challenge.id,
          expiresAt: challenge.expiresAt,
        })
        if (!added) throw new AdminError('wrong_passkey')
        return added
      })
      return hasNewCodes ? codes : []
    },
    remove: async (actor, id, isRequired) => {
      const found = await passkeys.find(id)
      if (found?.account !== actor.name) throw new UserError('This account has no such passkey.')
      if (isRequired) await refuseLastFactor(store.factors, actor.name)
      await change(actor, 'second_factor_removed', found.name, () =>
        passkeys.remove(actor.name, id, isRequired),
      )
    },
    beginSignIn: (site) => createUseOptions(key(), site, 'sign-in'),
    findSigner: async (site, response) => {
      audit.requireHealthy()
      const { account } = await usePasskey(key(), passkeys, site, 'sign-in', response)
      const found = await accounts.find(account)
      if (!found) throw new AdminError('wrong_passkey')
      return found
    },
    beginConfirm: ({ session }, site) => createUseOptions(key(), site, `confirm ${session}`),
    confirm: async (actor, site, response) => {
      const { account } = await usePasskey(key(), passkeys, site, `confirm ${actor.session}`, response)
      if (account !== actor.name) throw new AdminError('wrong_passkey')
      const entry = { phase: 'confirmed', detail: 'with a passkey' }
      const isDone = await withAudit({ audit, by: actor.name }, entry, () => sessions.confirm(actor))
      if (!isDone) throw new AdminError('signed_out')
    },
  }
}

/** It is shown, and written to the audit log. */
function readName(text: string): string {
  const name = text.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
  const refuse = (rule: string) => new AppError('validation_failed', { errors: { name: [`name ${rule}`] } })
  if (name === '') throw refuse('is required')
  if (holdsPersonNumber(name)) throw refuse(PERSON_NUMBER_RULE)
  return name
}
