import { createSecretText, hasChecksum, type SecretText } from '../keys/secret-text.ts'

const PREFIX = 'tbt_admin_'
const PATTERN = /^tbt_admin_([0-9A-Za-z]{8})[0-9A-Za-z]{38}$/

/** Like an API key, with a prefix of its own: neither is accepted in place of the other. */
export const createTokenText = (): SecretText => createSecretText(PREFIX)

/** Undefined for malformed text. */
export function parseAdminToken(text: string): SecretText | undefined {
  const id = PATTERN.exec(text)?.[1]
  return id !== undefined && hasChecksum(text) ? { id, text } : undefined
}

/**
 * The token in an Authorization header; undefined when the header holds something else. A proxy may send credentials of
 * its own, which must not end the session of a browser.
 */
export const readBearerToken = (authorization = ''): string | undefined =>
  /^bearer +(tbt_admin_\S*)\s*$/i.exec(authorization)?.[1]
