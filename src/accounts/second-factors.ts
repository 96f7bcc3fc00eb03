import { type KeyObject, randomBytes, randomInt } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/error.ts'
import type { Actor, SignInMethod } from '../contract/role.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { toTextMac } from '../crypto/mac.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import { UserError } from '../errors.ts'
import type { AccountTable } from './account-table.ts'
import { type AccountDeps, findAccount, withAudit } from './accounts.ts'
import { type FactorUse, LAST_FACTOR } from './factor-rows.ts'
import type { FactorRow, FactorTable } from './factor-table.ts'
import type { PasskeyRow, PasskeyTable } from './passkey-table.ts'
import type { Sessions } from './sessions.ts'
import type { Throttle } from './throttle.ts'
import { toCodeThrottleKeys } from './throttle.ts'
import { findStep, toBase32 } from './totp.ts'
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

export function createSecondFactors(
  { context: { audit, store }, key, throttle }: FactorDeps,
  sessions: Pick<Sessions, 'toKept'>,
): SecondFactors {
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
    beginTotp: async (actor) => {
      const { name } = actor
      refuseWithoutPassword(actor)
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
        factors.addTotp({ ...added, ...sessions.toKept(actor, 'code') }),
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
export function refuseWithoutPassword({ method }: Actor): void {
  if (method === 'sso')
    throw new UserError('This account signs in through your identity provider. Set up second factors there.')
}

const toPasskeyView = ({ id, name, host, createdAt, lastUsedAt }: PasskeyRow) => ({
  id,
  name,
  host,
  created_at: new Date(createdAt).toISOString(),
  last_used_at: lastUsedAt === undefined ? null : new Date(lastUsedAt).toISOString(),
})

const CODES = 10
const GROUPS = 3
const GROUP_LENGTH = 5
/** Without letters and digits that look alike: i, l, o, u, 0, 1. */
const ALPHABET = 'abcdefghjkmnpqrstvwxyz23456789'

const createGroup = () =>
  Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

/** Each has 73 random bits, so it needs no slow hash. */
const createRecoveryCodes = (): string[] =>
  Array.from({ length: CODES }, () => Array.from({ length: GROUPS }, createGroup).join('-'))

/** The hash that the store keeps: keyed, and bound to the account. Case, spaces and hyphens do not matter. */
const toRecoveryHash = (key: KeyObject, account: string, code: string): string =>
  toTextMac(key, JSON.stringify(['recovery-code', account, code.toLowerCase().replaceAll(/[\s-]/g, '')]))

const SECRET_BYTES = 20
const SETUP_MS = 10 * MINUTE_MS

const toData = (purpose: 'totp' | 'totp-setup', account: string) =>
  toAssociatedData(purpose, Buffer.from(account), 1)

/** The secret as it is stored, bound to its account. */
const sealTotp = (key: KeyObject, account: string, secret: Uint8Array): Buffer =>
  seal(key, secret, toData('totp', account))

const unsealTotp = (key: KeyObject, account: string, sealed: Uint8Array): Buffer =>
  unseal(key, sealed, toData('totp', account))

/** A new secret, and a token from which it is read when it is confirmed. Nothing is stored before that. */
function createSetup(key: KeyObject, account: string): { secret: Buffer; token: string } {
  const secret = randomBytes(SECRET_BYTES)
  const expiresAt = Buffer.alloc(8)
  expiresAt.writeDoubleBE(steadyNow() + SETUP_MS)
  const token = seal(key, Buffer.concat([expiresAt, secret]), toData('totp-setup', account))
  return { secret, token: token.toString('base64url') }
}

function readSetup(key: KeyObject, account: string, token: string): Buffer {
  const plain = openSetup(key, account, token)
  if (!plain || plain.readDoubleBE(0) <= steadyNow())
    throw new UserError('This set-up has expired. Begin again, and scan the new picture.')
  return plain.subarray(8)
}

function openSetup(key: KeyObject, account: string, token: string): Buffer | undefined {
  try {
    const plain = unseal(key, Buffer.from(token, 'base64url'), toData('totp-setup', account))
    return plain.length === 8 + SECRET_BYTES ? plain : undefined
  } catch {
    return undefined
  }
}

/** How an account has proved who it is. The code is used up when the session is opened, or the new password is set. */
export type SignInProof = { readonly method: SignInMethod; readonly factor?: FactorUse }

/**
 * After the password was right: how the account signs in. Throws `second_factor_needed` if a code is missing, else
 * `wrong_code` or `too_many_tries`.
 */
export const createSecondFactorCheck = ({ context: { audit, store }, key, throttle }: FactorDeps) => {
  const check = async (name: string, { totp }: FactorRow, code: string): Promise<SignInProof | undefined> => {
    const digits = code.replaceAll(/\s/g, '')
    if (!/^\d{6}$/.test(digits)) {
      const recoveryHash = toRecoveryHash(key(), name, code)
      const isRight = await store.factors.hasRecoveryCode(name, recoveryHash)
      return isRight ? { method: 'recovery_code', factor: { recoveryHash } } : undefined
    }
    const secret = totp && unsealTotp(key(), name, totp.sealed)
    const step = secret && findStep(secret, digits, Date.now(), totp.lastStep)
    return step === undefined ? undefined : { method: 'code', factor: { step } }
  }
  return async (name: string, code: string | undefined): Promise<SignInProof> => {
    const factors = await store.factors.find(name)
    if (!factors.totp && factors.passkeys === 0) return { method: 'password' }
    if (code === undefined || code.trim() === '') throw factorNeededError(factors)
    const attempt = await throttle.begin(toCodeThrottleKeys(name))
    const proof = await check(name, factors, code).catch(async (error: unknown) => {
      await attempt.withdraw()
      throw error
    })
    if (proof) {
      await attempt.succeed()
      return proof
    }
    await attempt.fail()
    await audit.record([{ phase: 'sign_in_failed', outcome: 'wrong_code', detail: name }])
    throw new AdminError('wrong_code')
  }
}

const factorNeededError = ({ totp }: FactorRow) =>
  totp
    ? new AdminError('second_factor_needed')
    : new AdminError('second_factor_needed', {
        message: 'Sign in with your passkey, or enter a recovery code.',
      })

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
