import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/error.ts'
import type { Actor } from '../contract/role.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { AccountRow, AccountTable } from './account-table.ts'
import { withAudit } from './accounts.ts'
import { type Passwords, refuseWeakPassword } from './passwords.ts'
import { isConfirmed, toSessionId } from './sessions.ts'
import type { Throttle, ThrottleKey } from './throttle.ts'
import { toConfirmThrottleKeys } from './throttle.ts'

/** What a signed-in account does with its password. All throw `wrong_password` or `too_many_tries`. */
export type PasswordActions = {
  /**
   * For actions that need the password again. An account of single sign-on has none: it must have signed in a few minutes
   * ago, else `confirm_first`.
   */
  readonly confirmPassword: (actor: Actor, password: string | undefined) => Promise<void>
  /** The same, and it holds for some minutes of this session. */
  readonly confirmSession: (actor: Actor, password: string) => Promise<void>
  /** Ends the other sessions of the account. */
  readonly changePassword: (
    actor: Actor,
    change: { readonly current: string; readonly password: string },
  ) => Promise<void>
}

type Deps = {
  readonly audit: AuditLog
  readonly store: { readonly accounts: AccountTable }
  readonly passwords: Passwords
  readonly check: PasswordCheck
}

export function createPasswordActions({ audit, store, passwords, check }: Deps): PasswordActions {
  const confirm = ({ name }: Actor, password: string) =>
    check({ name, password, throttleKeys: toConfirmThrottleKeys(name), isKnown: true })
  return {
    confirmPassword: async (actor, password) => {
      if (actor.token !== undefined) throw new AdminError('session_required')
      if (password !== undefined) return void (await confirm(actor, password))
      if ((await store.accounts.find(actor.name))?.password !== '')
        throw new AppError('validation_failed', { errors: { password: ['password is required'] } })
      if (!isConfirmed(actor)) throw new AdminError('confirm_first')
    },
    confirmSession: async (actor, password) => {
      await confirm(actor, password)
      const isDone = await withAudit({ audit, by: actor.name }, { phase: 'confirmed' }, () =>
        store.accounts.confirm(toSessionId(actor), steadyNow()),
      )
      if (!isDone) throw new AdminError('signed_out')
    },
    changePassword: async (actor, { current, password }) => {
      const { name } = actor
      refuseWeakPassword(name, password)
      const { password: before } = await confirm(actor, current)
      const after = await passwords.hash(name, password)
      const change = { name, before, after, keep: toSessionId(actor) }
      const isDone = await withAudit({ audit, by: name }, { phase: 'password_changed', detail: name }, () =>
        store.accounts.setPassword(change),
      )
      if (!isDone) throw new AdminError('wrong_password')
    },
  }
}

type PasswordAttempt = {
  readonly name: string
  readonly password: string
  readonly throttleKeys: readonly ThrottleKey[]
  /** True for a signed-in account, or a browser that has signed in before. */
  readonly isKnown: boolean
}

type CheckDeps = {
  readonly context: {
    readonly audit: AuditLog
    readonly store: { readonly accounts: AccountTable }
    readonly log: Log
  }
  readonly passwords: Passwords
  readonly throttle: Throttle
}

/** Returns the account if the password is right, else throws `wrong_password`. Neither input is logged or stored. */
type PasswordCheck = (attempt: PasswordAttempt) => Promise<AccountRow>

export const createPasswordCheck =
  ({ context: { audit, store, log }, passwords, throttle }: CheckDeps): PasswordCheck =>
  async ({ name, password, throttleKeys, isKnown }) => {
    const compare = async () => {
      const account = await store.accounts.find(name)
      return { account, isRight: await passwords.isRight(name, password, account?.password, isKnown) }
    }
    audit.requireHealthy()
    const attempt = await throttle.begin(throttleKeys)
    const { account, isRight } = await compare().catch(async (error: unknown) => {
      await attempt.withdraw()
      throw error
    })
    if (account && isRight) {
      await attempt.succeed()
      return account
    }
    await attempt.fail()
    // Not awaited: the response time would tell which names exist.
    if (account)
      audit
        .record([{ phase: 'sign_in_failed', outcome: 'wrong_password', detail: account.name }])
        .catch(log.failure)
    throw new AdminError('wrong_password')
  }
