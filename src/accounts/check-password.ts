import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { Log } from '../telemetry/log.ts'
import type { AccountRow } from './account-rows.ts'
import type { AccountTable } from './account-table.ts'
import type { Passwords } from './passwords.ts'
import type { Throttle, ThrottleKey } from './throttle.ts'

type PasswordAttempt = {
  readonly name: string
  readonly password: string
  readonly throttleKeys: readonly ThrottleKey[]
  /** True for a signed-in account, or a browser that has signed in before. */
  readonly isKnown: boolean
}

type Deps = {
  readonly context: {
    readonly audit: AuditLog
    readonly store: { readonly accounts: AccountTable }
    readonly log: Log
  }
  readonly passwords: Passwords
  readonly throttle: Throttle
}

/** Returns the account if the password is right, else throws `wrong_password`. Neither input is logged or stored. */
export type PasswordCheck = (attempt: PasswordAttempt) => Promise<AccountRow>

export const createPasswordCheck =
  ({ context: { audit, store, log }, passwords, throttle }: Deps): PasswordCheck =>
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
