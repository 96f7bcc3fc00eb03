import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner, type Signer } from '../audit/signing.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import { withStore } from './command-context.ts'

export const toSigner = (keyring: Keyring): Signer => createSigner(keyring['audit-signing'])

export const toPublicKeyOf = (keyring: Keyring): KeyObject =>
  toPublicKey(toSigner(keyring).publicKey, 'The key')

export const readKeyFile = (path: string): KeyObject => toPublicKey(readInputFile(path).toString(), path)

/** Reads a file that is named on the command line. */
export function readInputFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    throw new UserError(`${path} cannot be read.`)
  }
}

type FoundKey = { readonly publicKey: KeyObject; readonly database?: string }

/** The key from the file, or from the database and then with its name. */
export async function findPublicKey(path: string | undefined): Promise<FoundKey> {
  if (path !== undefined) return { publicKey: readKeyFile(path) }
  try {
    return await withStore(async ({ keyring, database }) => ({
      publicKey: toPublicKeyOf(keyring),
      database,
    }))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new UserError(
      `No public key: give --public-key FILE, or run where the database is. ${error.message}`,
    )
  }
}
