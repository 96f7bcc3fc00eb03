import type { Static } from '../contract/schema.ts'
import { SCOPES } from '../contract/scope.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import {
  InvalidOption,
  readAddresses,
  readClientCerts,
  readFields,
  readKeyDuration,
  readLifetime,
  readName,
} from '../keys/key-options.ts'
import type { KeyOptions } from '../keys/manage.ts'
import { createFieldReader } from './field-reader.ts'
import type { CreateKeyRequest } from './shapes/keys.ts'

/** Uses the parsers of the command line. Reports every invalid field. */
export function readKeyOptions(input: Static<typeof CreateKeyRequest>): KeyOptions {
  const { read, requireValid } = createFieldReader()
  const { mode, scopes, expires_in, subjects_per_day, requires_consent, async_when_down } = input
  const name = read('name', () => readName(input.name)) ?? ''
  const lifetimeMs = read('expires_in', () => given(expires_in?.trim(), readLifetime))
  const allowedIps = read('allowed_ips', () => given(input.allowed_ips?.join(), readAddresses))
  const clientCerts = read('client_certs', () => given(input.client_certs?.join(), readClientCerts))
  const hide = read('hide', () => given(input.hide?.join(), readFields)) ?? []
  const reveal = read('reveal', () => given(input.reveal?.join(), readFields)) ?? []
  requireValid()
  return {
    name,
    mode,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    expiresAt: lifetimeMs === undefined ? undefined : steadyNow() + lifetimeMs,
    allowedIps,
    clientCerts,
    hide,
    reveal,
    subjectsPerDay: subjects_per_day,
    requiresConsent: requires_consent ?? false,
    asyncWhenDown: async_when_down ?? false,
    requireMatch: input.require_match,
  }
}

/** An empty form field is the same as none. */
const given = <T>(text: string | undefined, read: (text: string) => T): T | undefined =>
  text === undefined || text === '' ? undefined : read(text)

export function readOverlap(text: string): number {
  try {
    return readKeyDuration(text)
  } catch (error) {
    if (!(error instanceof InvalidOption)) throw error
    throw new AppError('validation_failed', { errors: { overlap: [error.message] } })
  }
}
