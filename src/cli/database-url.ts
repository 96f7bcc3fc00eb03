import { readSecretFile } from '../crypto/secret-file.ts'
import { UserError } from '../errors.ts'
import { databaseUrl } from '../settings/setting.ts'

/** Of --database-url and --database-url-file: all users see the arguments of a command, and the address may hold a password. */
export type DatabaseUrlOptions = { databaseUrl?: string; databaseUrlFile?: string }

/** The address is never printed: it may hold a password, also if it is spelled wrongly. */
export function readDatabaseUrl(
  { databaseUrl: given, databaseUrlFile: file }: DatabaseUrlOptions,
  name: string,
): string | undefined {
  if (given !== undefined && file !== undefined)
    throw new UserError('Give --database-url or --database-url-file, not both.')
  const text = file === undefined ? given : readNamedSecret(file, 'address')
  if (text === undefined) return undefined
  try {
    return databaseUrl(text)
  } catch (error) {
    throw new UserError(`The address of ${name} ${(error as Error).message}.`)
  }
}

export function readNamedSecret(path: string, what: 'key' | 'address'): string {
  try {
    return readSecretFile(path, 'mounted').trim()
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `The file ${path} with the ${what} cannot be read. Check the path and its permissions.`,
    )
  }
}
