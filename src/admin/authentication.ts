import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { AccountRow } from '../accounts/account-table.ts'
import { withAudit } from '../accounts/accounts.ts'
import { type Acceptance, acceptInvitation, inspectInvitation } from '../accounts/invitations.ts'
import type { PasskeySite } from '../accounts/passkeys.ts'
import { createPasskeyActions, type PasskeyActions } from '../accounts/passkeys.ts'
import {
  type Cost,
  createPasswordActions,
  createPasswordCheck,
  createPasswords,
  type PasswordActions,
  refuseWeakPassword,
} from '../accounts/passwords.ts'
import {
  createSecondFactorCheck,
  createSecondFactors,
  type SecondFactors,
  type SignInProof,
} from '../accounts/second-factors.ts'
import {
  createDevices,
  createOpenSession,
  createSessions,
  type Sessions,
  type SessionTokens,
  WITHOUT_ACTIVITY,
} from '../accounts/sessions.ts'
import { createThrottle, toSignInThrottleKeys } from '../accounts/throttle.ts'
import type { Context } from '../context/context.ts'
import type { Actor } from '../contract/role.ts'
import { steadyNow } from '../contract/time.ts'

/** Where a session is opened from. */
export type SessionOrigin = {
  /** The IP address of the caller. */
  readonly address: string
  readonly browser: string | undefined
}

type SignInRequest = SessionOrigin & {
  readonly name: string
  readonly password: string
  /** Of the authenticator app, or a recovery code. */
  readonly code?: string
  /** The device cookie, if the browser sent one. */
  readonly device?: string | undefined
}

type PasskeySignIn = SessionOrigin & {
  readonly response: AuthenticationResponseJSON
  readonly device?: string | undefined
}

/** Sign-in, sessions and passwords of console accounts. */
export type Authentication = Pick<Sessions, 'findActor' | 'describe'> &
  PasswordActions & {
    readonly factors: SecondFactors
    /** Throws `wrong_password`, `second_factor_needed`, `wrong_code` or `too_many_tries`. */
    readonly signIn: (request: SignInRequest) => Promise<SessionTokens>
    readonly passkeys: PasskeyActions
    readonly signInWithPasskey: (site: PasskeySite, request: PasskeySignIn) => Promise<SessionTokens>
    /** After the provider has said who it is. `confirmedAt` is when the person last signed in there. */
    readonly openSsoSession: (
      account: AccountRow,
      origin: SessionOrigin & { readonly device: string | undefined; readonly confirmedAt: number },
    ) => Promise<SessionTokens>
    /** Ends the session of this cookie, if there is one. */
    readonly endToken: (token: string) => Promise<void>
    readonly signOut: (actor: Actor) => Promise<void>
    /** Uses a one-time link and signs in. */
    readonly accept: (acceptance: Acceptance, origin: SessionOrigin) => Promise<SessionTokens>
  }

export function createAuthentication(context: Context, now = steadyNow, cost?: Cost): Authentication {
  const { audit, store } = context
  const secret = () => context.keyring()['console-password']
  const passwords = createPasswords(secret, cost)
  const sessions = createSessions(
    store.accounts,
    () => context.keyring()['console-token'],
    context.config.twoFactor,
  )
  const throttle = createThrottle(store.throttle, secret, now)
  const devices = createDevices(secret)

  const factorDeps = { context, key: () => context.keyring()['second-factor'], throttle }
  const checkFactor = createSecondFactorCheck(factorDeps)
  const check = createPasswordCheck({ context, passwords, throttle })
  const passkeys = createPasskeyActions(factorDeps, sessions)
  const open = createOpenSession({ audit, sessions, devices })

  /** A reset link replaces the password, not the second factor. */
  const checkAcceptance = async ({ token, password, code }: Acceptance): Promise<SignInProof> => {
    const { name } = await inspectInvitation({ store, keyring: context.keyring() }, token)
    if (name === null) return { method: 'password' }
    refuseWeakPassword(name, password)
    return checkFactor(name, code)
  }

  return {
    findActor: sessions.findActor,
    describe: sessions.describe,
    factors: createSecondFactors(factorDeps, sessions),
    signIn: async ({ name: typed, password, code, address, browser, device }) => {
      const name = typed.trim().toLowerCase()
      const known = devices.open(name, device)
      const throttleKeys = toSignInThrottleKeys(name, address, known)
      const account = await check({ name, password, throttleKeys, isKnown: known !== undefined })
      return open(
        account,
        { ...(await checkFactor(name, code)), address, browser },
        known === undefined ? undefined : device,
      )
    },
    passkeys,
    signInWithPasskey: async (site, { response, device, ...origin }) => {
      const account = await passkeys.findSigner(site, response)
      const known = devices.open(account.name, device)
      const proof = { method: 'passkey', factor: { passkey: response.id } } as const
      return open(account, { ...proof, ...origin }, known === undefined ? undefined : device)
    },
    openSsoSession: async (account, { device, ...origin }) => {
      const known = devices.open(account.name, device)
      return open(account, { method: 'sso', ...origin }, known === undefined ? undefined : device)
    },
    endToken: async (token) => {
      const actor = await sessions.findActor(token, WITHOUT_ACTIVITY)
      if (actor) await sessions.end(actor)
    },
    signOut: (actor) =>
      withAudit({ audit, by: actor.name }, { phase: 'signed_out' }, () => sessions.end(actor)),
    ...createPasswordActions({ audit, store, passwords, check, sessions }),
    accept: async (acceptance, origin) => {
      const { method, factor } = await checkAcceptance(acceptance)
      const account = await acceptInvitation(
        { store, audit, passwords, keyring: context.keyring() },
        acceptance,
        factor,
      )
      await throttle.reset(account.name)
      return open(account, { method, ...origin })
    },
  }
}
