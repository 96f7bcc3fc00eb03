import type { Environment } from './read-settings.ts'
import type { Setting } from './setting.ts'

/** Where the value of a setting came from; `file` is the one that its _FILE variable names. */
export type SettingOrigin = 'default' | 'environment' | '.env' | 'file' | 'unset'

/** A setting as people may see it: the value of a secret is not in it. */
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
