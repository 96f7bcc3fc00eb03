/** Fingerprints of the TLS client certificates that a key may be used with, separated by commas. Null: none is needed. */
export const clientCerts = {
  id: 19,
  sql: ['ALTER TABLE api_keys ADD COLUMN client_certs TEXT'],
} as const
