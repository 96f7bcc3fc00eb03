import type { Context } from '../context/context.ts'
import { hasPublicSandboxKey } from '../context/open-keys.ts'
import { AdminError } from '../contract/admin-error.ts'
import { AppError } from '../errors.ts'
import { SANDBOX_KEY } from '../keys/sandbox-key.ts'

/** The public sandbox key, where this server accepts it. */
export const findSandboxKey = ({ config }: Pick<Context, 'config'>) =>
  hasPublicSandboxKey(config) ? SANDBOX_KEY : null

/** The key that a person has entered, or else the public sandbox key. */
export function readTryKey(context: Pick<Context, 'config'>, given: string | undefined): string {
  const key = given?.trim() || findSandboxKey(context)
  if (!key)
    throw new AdminError('refused', {
      message:
        'This server does not accept the public sandbox key. Create a test key on the page Keys and enter it here.',
    })
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new AppError('validation_failed', {
      errors: { key: ['key must contain only visible ASCII characters, without spaces'] },
    })
  return key
}
