import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { Actor } from '../contract/role.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { AccountTable } from './account-table.ts'
import { withAudit } from './accounts.ts'
import type { PasswordCheck } from './check-password.ts'
import { isConfirmed } from './confirmed.ts'
import { type Passwords, refuseWeakPassword } from './passwords.ts'
import { toSessionId } from './sessions.ts'
import { toConfirmThrottleKeys } from './throttle-keys.ts'

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
