import { UserError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { type AccountDeps, findAccount, withAudit } from './accounts.ts'

/** For an account that has lost its second factor: deletes all of them with the recovery codes, and ends its sessions. */
export async function resetSecondFactors(
  deps: Omit<AccountDeps, 'store'> & { readonly store: Pick<Store, 'accounts' | 'factors'> },
  name: string,
): Promise<void> {
  await findAccount(deps, name)
  const { totp, passkeys } = await deps.store.factors.find(name)
  if (!totp && passkeys === 0) throw new UserError(`${name} has no second factor.`)
  await withAudit(deps, { phase: 'second_factor_reset', detail: name }, () => deps.store.factors.reset(name))
}
