import { readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  createRootKeyText,
  parseRootKey,
  type RootKey,
  type RootKeys,
  writeRootKeyFile,
} from '../crypto/root-key.ts'
import { UserError } from '../errors.ts'

/**
 * The next root key. One that was prepared, by the operator or by an interrupted rotation, comes before the present one in the
 * file; else one is created and written to disk before anything is sealed under it.
 */
export function prepareSuccessor({ candidates, origin, where }: RootKeys, current: string): RootKey {
  const first = candidates[0]
  if (first && first.fingerprint !== current) return first
  if (origin === 'setting')
    throw new UserError(
      `${where} is the present root key of this database. To rotate it, set TABBAT_ROOT_KEY to a new one (openssl rand -base64 32) and TABBAT_ROOT_KEY_PREVIOUS to the present one, for every server, restart them, and run this again.`,
    )
  if (origin === 'command')
    throw new UserError(
      `TABBAT_ROOT_KEY_COMMAND prints the present root key of this database only. To rotate it, let the command print a new one (openssl rand -base64 32) and then the present one, for every server, and run this again.`,
    )
  const text = createRootKeyText()
  writeFile(where, [text, findText(where, current)])
  return parseRootKey(text, where)
}

/** Whether the file still holds keys that this database no longer needs. */
export const hasLeftovers = ({ candidates, origin }: RootKeys, current: string) =>
  origin === 'file' && candidates.length > 1 && candidates[0]?.fingerprint === current

/** Leaves only the present key in the file, and deletes drafts that a crash left beside it. */
export function dropPredecessor(where: string, current: string): void {
  writeFile(where, [findText(where, current)])
  const path = realpathSync(where)
  for (const name of readdirSync(dirname(path)))
    if (name.startsWith(`${basename(path)}.`) && /\.\d+$/.test(name)) rmSync(join(dirname(path), name))
}

function findText(where: string, fingerprint: string): string {
  const texts = readFileSync(where, 'utf8').trim().split(/\s+/)
  const found = texts.find((text) => parseRootKey(text, where).fingerprint === fingerprint)
  if (found === undefined)
    throw new UserError(
      `The root key is missing from ${where}: the file was changed meanwhile. Put the key back.`,
    )
  return found
}

function writeFile(where: string, texts: readonly string[]): void {
  try {
    // The file may be a symbolic link.
    writeRootKeyFile(realpathSync(where), texts)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UserError(
      `The root key file ${where} cannot be written (${code}). Check the folder's permissions.`,
    )
  }
}
