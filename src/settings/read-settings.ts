import { readSecretFile } from '../crypto/secret-file.ts'
import { UntrustedPath } from '../crypto/trusted-path.ts'
import { toDatabaseUrls } from './database-url.ts'
import { InvalidSetting, type Setting, type Settings } from './setting.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The values of these settings. An invalid one is undefined, and a sentence about it is added to `problems`. */
export const readSettings = (settings: Settings, given: Environment, problems: string[]) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, entry]) => [name, readSetting(entry, given, problems)]),
  )

/** Whether the variable or its _FILE variable is set. */
export const isGiven = ({ env, secret }: Setting<unknown>, given: Environment) =>
  given[env] !== undefined || (secret === true && given[`${env}_FILE`] !== undefined)

function readSetting(entry: Setting<unknown>, given: Environment, problems: string[]): unknown {
  try {
    refuseBothForms(entry, given)
    const text = given[entry.env] ?? readSettingFile(entry, given) ?? entry.fallback
    return text === undefined ? undefined : entry.read(text.trim())
  } catch (error) {
    if (!(error instanceof InvalidSetting)) throw error
    problems.push(`${entry.env} ${error.message}`)
    return undefined
  }
}

function refuseBothForms({ env, secret }: Setting<unknown>, given: Environment): void {
  if (secret && given[env] !== undefined && given[`${env}_FILE`] !== undefined)
    throw new InvalidSetting(`excludes ${env}_FILE: keep one of them`)
}

function readSettingFile(entry: Setting<unknown>, given: Environment): string | undefined {
  const path = entry.secret ? given[`${entry.env}_FILE`] : undefined
  if (path === undefined) return undefined
  try {
    return readSecretFile(path, entry.fileKind ?? 'mounted').trim()
  } catch (error) {
    if (error instanceof UntrustedPath)
      throw new InvalidSetting(`cannot be read from its file: ${error.message}`)
    throw new InvalidSetting(
      'cannot be read from the file named by its _FILE variable: check the path and its permissions',
    )
  }
}

/** With NODE_TLS_REJECT_UNAUTHORIZED=0, Node checks no certificate. Refused if credentials are sent over TLS. */
export function listTlsProblems(
  environment: Environment,
  databaseUrl: string | undefined,
  sendsCredentials: boolean,
): string[] {
  if (environment.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return []
  if (!sendsCredentials && (databaseUrl === undefined || !usesTls(databaseUrl))) return []
  return [
    'NODE_TLS_REJECT_UNAUTHORIZED=0 would send credentials to any server that answers: remove it. To trust your own certificate authority, set NODE_EXTRA_CA_CERTS to its certificate',
  ]
}

function usesTls(databaseUrl: string): boolean {
  const { searchParams } = toDatabaseUrls(databaseUrl)[0]
  return !['disable', 'false', '0'].includes(
    searchParams.get('sslmode') ?? searchParams.get('ssl') ?? 'disable',
  )
}
