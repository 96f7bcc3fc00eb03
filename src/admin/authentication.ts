import { withAudit } from '../accounts/accounts.ts'
import { createPasswordCheck } from '../accounts/check-password.ts'
import { createDevices } from '../accounts/devices.ts'
import { type Acceptance, acceptInvitation } from '../accounts/invitations.ts'
import { createPasswords, refuseWeakPassword } from '../accounts/passwords.ts'
import { createSessions, type Sessions, toSessionId } from '../accounts/sessions.ts'
import { createThrottle } from '../accounts/throttle.ts'
import { createSignInThrottleKeys, toConfirmThrottleKeys } from '../accounts/throttle-keys.ts'
import type { Context } from '../context/context.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { Actor } from '../contract/role.ts'
import type { AccountRow } from '../store/account-rows.ts'

type SignInRequest = {
  readonly name: string
  readonly password: string
  /** The IP address of the caller. */
  readonly address: string
  /** The device cookie, if the browser sent one. */
  readonly device?: string | undefined
}

/** The cookies of a browser after a sign-in. */
export type SessionTokens = { readonly session: string; readonly device: string }

/** Sign-in, sessions and passwords of console accounts. */
export type Authentication = Pick<Sessions, 'findActor' | 'describe'> & {
  /** Throws `wrong_password` or `too_many_tries`. */
  readonly signIn: (request: SignInRequest) => Promise<SessionTokens>
  readonly signOut: (actor: Actor) => Promise<void>
  /** For actions that need the password again. Throws `wrong_password` or `too_many_tries`. */
  readonly confirmPassword: (actor: Actor, password: string) => Promise<void>
  /** Ends the other sessions of the account. */
  readonly changePassword: (
    actor: Actor,
    change: { readonly current: string; readonly password: string },
  ) => Promise<void>
  /** Uses a one-time link and signs in. */
  readonly accept: (acceptance: Acceptance) => Promise<SessionTokens>
}

export function createAuthentication(context: Context, now = () => performance.now()): Authentication {
  const { audit, store } = context
  const passwords = createPasswords(() => context.keyring()['console-password'])
  const sessions = createSessions(store.accounts)
  const throttle = createThrottle(now)
  const { toThrottleKeys, isForName } = createSignInThrottleKeys()
  const devices = createDevices(() => context.keyring()['console-password'])

  const check = createPasswordCheck({ context, passwords, throttle })
  const open = async (
    account: Pick<AccountRow, 'name' | 'password'>,
    device = devices.create(account.name),
  ) => {
    const entry = { phase: 'signed_in' }
    const by = { audit, by: account.name }
    const token = await withAudit(by, entry, async () => (await sessions.open(account)) ?? false)
    if (token === false) throw new AdminError('wrong_password')
    return { session: token, device }
  }

  return {
    findActor: sessions.findActor,
    describe: sessions.describe,
    signIn: async ({ name: typed, password, address, device }) => {
      const name = typed.trim().toLowerCase()
      const known = devices.open(name, device)
      const throttleKeys = toThrottleKeys(name, address, known)
      const account = await check({ name, password, throttleKeys, isKnown: known !== undefined })
      return open(account, known === undefined ? undefined : device)
    },
    signOut: (actor) =>
      withAudit({ audit, by: actor.name }, { phase: 'signed_out' }, () => sessions.end(actor)),
    confirmPassword: async ({ name, token }, password) => {
      if (token !== undefined) throw new AdminError('session_required')
      await check({ name, password, throttleKeys: toConfirmThrottleKeys(name), isKnown: true })
    },
    changePassword: async (actor, { current, password }) => {
      const { name } = actor
      refuseWeakPassword(name, password)
      const throttleKeys = toConfirmThrottleKeys(name)
      const { password: before } = await check({ name, password: current, throttleKeys, isKnown: true })
      const after = await passwords.hash(name, password)
      const change = { name, before, after, keep: toSessionId(actor) }
      const isDone = await withAudit({ audit, by: name }, { phase: 'password_changed', detail: name }, () =>
        store.accounts.setPassword(change),
      )
      if (!isDone) throw new AdminError('wrong_password')
    },
    accept: async (acceptance) => {
      const account = await acceptInvitation({ store, audit, passwords }, acceptance)
      throttle.reset(isForName(account.name))
      return open(account)
    },
  }
}
