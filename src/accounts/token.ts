import { hash, randomBytes } from 'node:crypto'

const TOKEN_BYTES = 32

/** The secret in a cookie or a link. It is not stored. */
export const createToken = () => randomBytes(TOKEN_BYTES).toString('base64url')

/** The hash that the store keeps; a random token of this length needs no slow hash. Undefined if the text is not a token. */
export const toTokenId = (token: string): Uint8Array | undefined =>
  /^[A-Za-z0-9_-]{43}$/.test(token) ? hash('sha256', token, 'buffer') : undefined
