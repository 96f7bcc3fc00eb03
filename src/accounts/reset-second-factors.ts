import { UserError } from '../errors.ts'
import type { AccountTable } from './account-table.ts'
import { type AccountDeps, findAccount, withAudit } from './accounts.ts'
import type { FactorTable } from './factor-table.ts'

/** For an account that has lost its second factor: deletes all of them with the recovery codes, and ends its sessions. */
export async function resetSecondFactors(
  deps: Omit<AccountDeps, 'store'> & {
    readonly store: { readonly accounts: AccountTable; readonly factors: FactorTable }
  },
  name: string,
): Promise<void> {
  await findAccount(deps, name)
  const { totp, passkeys } = await deps.store.factors.find(name)
  if (!totp && passkeys === 0) throw new UserError(`${name} has no second factor.`)
  await withAudit(deps, { phase: 'second_factor_reset', detail: name }, () => deps.store.factors.reset(name))
}
