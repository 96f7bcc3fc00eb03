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
 * The root key that comes next. One that was prepared, by the operator or by a rotation that did not get further, stands
 * before the present one; else one is made, and it is on disk before anything is sealed under it.
 */
export function prepareSuccessor({ candidates, origin, where }: RootKeys, current: string): RootKey {
  const first = candidates[0]
  if (first && first.fingerprint !== current) return first
  if (origin === 'setting')
    throw new UserError(
      `${where} is the present root key of this database. To rotate it, set TABBAT_ROOT_KEY to a new one (openssl rand -base64 32) and TABBAT_ROOT_KEY_PREVIOUS to the present one, for every server, restart them, and run this again.`,
    )
  const text = createRootKeyText()
  writeFile(where, [text, findText(where, current)])
  return parseRootKey(text, where)
}

/** Whether the file still holds keys that this database has left behind. */
export const hasLeftovers = ({ candidates, origin }: RootKeys, current: string) =>
  origin === 'file' && candidates.length > 1 && candidates[0]?.fingerprint === current

/** Leaves the present key alone in the file, and takes away what a crash may have left beside it. */
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
    throw new UserError(`${where} was changed by somebody else: the root key is missing.`)
  return found
}

function writeFile(where: string, texts: readonly string[]): void {
  try {
    // The file may be a link to where the key is kept.
    writeRootKeyFile(realpathSync(where), texts)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UserError(
      `The root key file ${where} cannot be written (${code}). Check the folder's permissions.`,
    )
  }
}
