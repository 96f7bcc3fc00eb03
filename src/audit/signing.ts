import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** The bytes before the 32 secret bytes in the PKCS #8 form of an Ed25519 private key. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Signs checkpoints. Derived from the root key, so every node of a database has the same signer. */
export type Signer = { readonly sign: (text: string) => string; readonly publicKey: string }

export function createSigner(seed: KeyObject): Signer {
  const der = Buffer.concat([PKCS8_PREFIX, seed.export()])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return {
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
    publicKey: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
  }
}
