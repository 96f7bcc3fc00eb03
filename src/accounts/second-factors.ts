import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { Actor } from '../contract/role.ts'
import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import type { AccountTable } from './account-table.ts'
import { withAudit } from './accounts.ts'
import { LAST_FACTOR } from './factor-rows.ts'
import type { FactorTable } from './factor-table.ts'
import type { PasskeyRow, PasskeyTable } from './passkey-table.ts'
import { createRecoveryCodes, toRecoveryHash } from './recovery-codes.ts'
import { toSessionId } from './sessions.ts'
import type { Throttle } from './throttle.ts'
import { toCodeThrottleKeys } from './throttle-keys.ts'
import { findStep, toBase32 } from './totp.ts'
import { createSetup, readSetup, sealTotp } from './totp-setup.ts'
import type { FactorList } from './views.ts'

export type FactorDeps = {
  readonly context: {
    readonly audit: AuditLog
    readonly store: {
      readonly factors: FactorTable
      readonly accounts: AccountTable
      readonly passkeys: PasskeyTable
    }
  }
  readonly key: () => KeyObject
  readonly throttle: Throttle
}

/** The second factors of the signed-in account. */
export type SecondFactors = {
  readonly list: (actor: Actor) => Promise<FactorList>
  /** A secret for an authenticator app. It counts when its first code is confirmed. */
  readonly beginTotp: (actor: Actor) => Promise<{ readonly secret: string; readonly token: string }>
  /** Resolves to the recovery codes if these are the first; they are shown once. Ends the other sessions. */
  readonly confirmTotp: (
    actor: Actor,
    setup: { readonly token: string; readonly code: string },
  ) => Promise<readonly string[]>
  /** `isRequired`: the role must keep a second factor. */
  readonly removeTotp: (actor: Actor, isRequired: boolean) => Promise<void>
  /** New recovery codes. The old ones become void. */
  readonly renewRecoveryCodes: (actor: Actor) => Promise<readonly string[]>
}

export function createSecondFactors({ context: { audit, store }, key, throttle }: FactorDeps): SecondFactors {
  const { factors } = store
  const change = <T>({ name }: Actor, phase: string, detail: string, work: () => Promise<T>) =>
    withAudit({ audit, by: name }, { phase, detail: `${name}, ${detail}` }, work)
  return {
    list: async ({ name }) => {
      const { totp, recoveryCodes } = await factors.find(name)
      return {
        totp_since: totp ? new Date(totp.createdAt).toISOString() : null,
        passkeys: (await store.passkeys.list(name)).map(toPasskeyView),
        recovery_codes: recoveryCodes,
      }
    },
    beginTotp: async ({ name }) => {
      await refuseWithoutPassword(store.accounts, name)
      if ((await factors.find(name)).totp) throw new UserError(HAS_TOTP)
      const { secret, token } = createSetup(key(), name)
      return { secret: toBase32(secret), token }
    },
    confirmTotp: async (actor, { token, code }) => {
      const { name } = actor
      const secret = readSetup(key(), name, token)
      const attempt = await throttle.begin(toCodeThrottleKeys(name))
      const step = findStep(secret, code.replaceAll(/\s/g, ''), Date.now(), 0)
      if (step === undefined) {
        await attempt.fail()
        throw new AdminError('wrong_code')
      }
      await attempt.succeed()
      const { codes, hashes } = createHashedCodes(key(), name)
      const sealed = sealTotp(key(), name, secret)
      const added = { account: name, sealed, step, at: steadyNow(), recoveryHashes: hashes }
      const { hasNewCodes } = await change(actor, 'second_factor_added', 'authenticator app', () =>
        factors.addTotp({ ...added, session: toSessionId(actor) }),
      )
      return hasNewCodes ? codes : []
    },
    removeTotp: async (actor, isRequired) => {
      const { totp } = await factors.find(actor.name)
      if (!totp) throw new UserError('This account has no authenticator app.')
      if (isRequired) await refuseLastFactor(factors, actor.name)
      await change(actor, 'second_factor_removed', 'authenticator app', () =>
        factors.removeTotp(actor.name, isRequired),
      )
    },
    renewRecoveryCodes: async (actor) => {
      const { totp, passkeys } = await factors.find(actor.name)
      if (!totp && passkeys === 0)
        throw new UserError('Recovery codes need a second factor. Set one up first.')
      const { codes, hashes } = createHashedCodes(key(), actor.name)
      await change(actor, 'recovery_codes_renewed', 'all earlier ones void', () =>
        factors.replaceRecoveryCodes(actor.name, hashes),
      )
      return codes
    },
  }
}

const HAS_TOTP = 'This account has an authenticator app already. Remove it first.'

/** New recovery codes, and what is stored of them. */
export function createHashedCodes(key: KeyObject, account: string) {
  const codes = createRecoveryCodes()
  return { codes, hashes: codes.map((code) => toRecoveryHash(key, account, code)) }
}

/** Checked before the audit row is written. The store checks again: two removals may arrive at the same moment. */
export async function refuseLastFactor(table: FactorTable, account: string): Promise<void> {
  const { totp, passkeys } = await table.find(account)
  if ((totp ? 1 : 0) + passkeys > 1) return
  throw new UserError(LAST_FACTOR)
}

/** The provider of single sign-on decides about the factors of its accounts, and can withdraw them. */
export async function refuseWithoutPassword(table: AccountTable, account: string): Promise<void> {
  if ((await table.find(account))?.password === '')
    throw new UserError('This account signs in through your identity provider. Set up second factors there.')
}

const toPasskeyView = ({ id, name, host, createdAt, lastUsedAt }: PasskeyRow) => ({
  id,
  name,
  host,
  created_at: new Date(createdAt).toISOString(),
  last_used_at: lastUsedAt === undefined ? null : new Date(lastUsedAt).toISOString(),
})
