import type { Environment } from './read-settings.ts'
import type { Setting } from './setting.ts'

/** `file` is the file that the _FILE variable names. */
type SettingOrigin = 'default' | 'environment' | '.env' | 'file' | 'unset'

/** A setting for display, without the value of a secret. */
export type ShownSetting = {
  readonly name: string
  readonly about: string
  readonly isSecret: boolean
  readonly value: string | undefined
  readonly origin: SettingOrigin
}

export function toShownSetting(
  { env, help, secret = false, fallback }: Setting<unknown>,
  environment: Environment,
  envFile: Environment,
): ShownSetting {
  const text = environment[env] ?? envFile[env]
  const shown = { name: env, about: help, isSecret: secret, value: secret ? undefined : (text ?? fallback) }
  if (text !== undefined) return { ...shown, origin: environment[env] === undefined ? '.env' : 'environment' }
  if (secret && (environment[`${env}_FILE`] ?? envFile[`${env}_FILE`]) !== undefined)
    return { ...shown, origin: 'file' }
  return { ...shown, origin: fallback === undefined ? 'unset' : 'default' }
}
