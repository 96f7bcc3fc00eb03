import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { AdminError } from '../contract/admin-error.ts'
import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import type { Actor } from '../contract/role.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError, UserError } from '../errors.ts'
import type { AccountRow } from './account-rows.ts'
import { withAudit } from './accounts.ts'
import type { PasskeySite } from './passkey-site.ts'
import { createRegistrationOptions, createUseOptions, readRegistration, usePasskey } from './passkeys.ts'
import {
  createHashedCodes,
  type FactorDeps,
  refuseLastFactor,
  refuseWithoutPassword,
} from './second-factors.ts'
import { toSessionId } from './sessions.ts'

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

export function createPasskeyActions({ context: { audit, store }, key }: FactorDeps): PasskeyActions {
  const { passkeys, accounts } = store
  const change = <T>({ name }: Actor, phase: string, detail: string, work: () => Promise<T>) =>
    withAudit({ audit, by: name }, { phase, detail: `${name}, passkey ${detail}` }, work)
  return {
    beginAdd: async ({ name }, site) => {
      await refuseWithoutPassword(accounts, name)
      return createRegistrationOptions(key(), site, name, await passkeys.list(name))
    },
    finishAdd: async (actor, site, { name: label, response }) => {
      const name = readName(label)
      await refuseWithoutPassword(accounts, actor.name)
      const { passkey, challenge } = await readRegistration(key(), site, actor.name, response)
      const { codes, hashes } = createHashedCodes(key(), actor.name)
      const { hasNewCodes } = await change(actor, 'second_factor_added', name, async () => {
        const added = await passkeys.add({
          passkey: { ...passkey, name },
          recoveryHashes: hashes,
          session: toSessionId(actor),
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
    beginConfirm: async ({ name, session }, site) =>
      createUseOptions(key(), site, `confirm ${session}`, await passkeys.list(name)),
    confirm: async (actor, site, response) => {
      const { account } = await usePasskey(key(), passkeys, site, `confirm ${actor.session}`, response)
      if (account !== actor.name) throw new AdminError('wrong_passkey')
      const entry = { phase: 'confirmed', detail: 'with a passkey' }
      const isDone = await withAudit({ audit, by: actor.name }, entry, () =>
        accounts.confirm(toSessionId(actor), steadyNow()),
      )
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
