import { AdminError } from '../contract/admin-error.ts'
import type { SignInMethod } from '../contract/sign-in-method.ts'
import type { FactorUse } from './factor-rows.ts'
import type { FactorRow } from './factor-table.ts'
import { toRecoveryHash } from './recovery-codes.ts'
import type { FactorDeps } from './second-factors.ts'
import { toCodeThrottleKeys } from './throttle-keys.ts'
import { findStep } from './totp.ts'
import { unsealTotp } from './totp-setup.ts'

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
    if (code === undefined || code.trim() === '') throw toNeeded(factors)
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

const toNeeded = ({ totp }: FactorRow) =>
  totp
    ? new AdminError('second_factor_needed')
    : new AdminError('second_factor_needed', {
        message: 'Sign in with your passkey, or enter a recovery code.',
      })
