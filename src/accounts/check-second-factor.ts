import { AdminError } from '../contract/admin-error.ts'
import type { SignInMethod } from '../contract/sign-in-method.ts'
import type { FactorRow } from '../store/factor-table.ts'
import { toRecoveryHash } from './recovery-codes.ts'
import type { FactorDeps } from './second-factors.ts'
import { toCodeThrottleKeys } from './throttle-keys.ts'
import { findStep } from './totp.ts'
import { unsealTotp } from './totp-setup.ts'

/**
 * After the password was right: how the account has signed in. Throws `second_factor_needed` if a code is missing, else
 * `wrong_code` or `too_many_tries`. A code is accepted once.
 */
export const createSecondFactorCheck = ({ context: { audit, store }, key, throttle }: FactorDeps) => {
  const use = async (name: string, { totp }: FactorRow, code: string): Promise<SignInMethod | undefined> => {
    const digits = code.replaceAll(/\s/g, '')
    if (!/^\d{6}$/.test(digits))
      return (await store.factors.useRecoveryCode(name, toRecoveryHash(key(), name, code)))
        ? 'recovery_code'
        : undefined
    const secret = totp && unsealTotp(key(), name, totp.sealed)
    const step = secret && findStep(secret, digits, Date.now(), totp.lastStep)
    return step !== undefined && (await store.factors.useStep(name, step)) ? 'code' : undefined
  }
  return async (name: string, code: string | undefined): Promise<SignInMethod> => {
    const factors = await store.factors.find(name)
    if (!factors.totp && factors.passkeys === 0) return 'password'
    if (code === undefined || code.trim() === '') throw toNeeded(factors)
    const attempt = await throttle.begin(toCodeThrottleKeys(name))
    const method = await use(name, factors, code).catch(async (error: unknown) => {
      await attempt.withdraw()
      throw error
    })
    if (method) {
      await attempt.succeed()
      return method
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
