import { hash, randomBytes } from 'node:crypto'

const TOKEN_BYTES = 32

/** What a cookie or a link holds; it is kept nowhere here. */
export const createToken = () => randomBytes(TOKEN_BYTES).toString('base64url')

/** What the store knows it by. A random token of this length needs no slow hash. Undefined for what is no token. */
export const toTokenId = (token: string): Uint8Array | undefined =>
  /^[A-Za-z0-9_-]{43}$/.test(token) ? hash('sha256', token, 'buffer') : undefined
