import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSigner, type Signer } from '../audit/signing.ts'
import { toPublicKey } from '../audit/verify-checkpoint.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import { withStore } from './command-context.ts'

/** A file that somebody names on the command line. */
export function readNamedFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    throw new UserError(`${path} cannot be read.`)
  }
}

export const readKeyFile = (path: string): KeyObject => toPublicKey(readNamedFile(path).toString(), path)

export const toSigner = (keyring: Keyring): Signer => createSigner(keyring['audit-signing'])

export const toKeyOf = (keyring: Keyring): KeyObject => toPublicKey(toSigner(keyring).publicKey, 'The key')

/** From the file, or from the database if there is one here. */
export async function findPublicKey(path: string | undefined): Promise<KeyObject> {
  if (path !== undefined) return readKeyFile(path)
  try {
    return await withStore(async ({ keyring }) => toKeyOf(keyring))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new UserError(`Without a database here, give the key with --public-key FILE. (${error.message})`)
  }
}
