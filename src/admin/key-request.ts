import type { Static } from '../contract/schema.ts'
import { SCOPES } from '../contract/scope.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { KeyChanges } from '../keys/change-key.ts'
import {
  InvalidOption,
  readAddresses,
  readClientCerts,
  readFields,
  readKeyDuration,
  readLifetime,
  readName,
  readNote,
  readOwner,
} from '../keys/key-options.ts'
import type { KeyOptions } from '../keys/manage.ts'
import { createFieldReader } from './field-reader.ts'
import type { ChangeKeyRequest, CreateKeyRequest } from './shapes/keys.ts'

type CreateInput = Static<typeof CreateKeyRequest>
type ChangeInput = Static<typeof ChangeKeyRequest>

/** Uses the parsers of the command line. Reports every invalid field. */
export function readKeyOptions(input: CreateInput): KeyOptions {
  const { read, requireValid } = createFieldReader()
  const { mode, scopes, subjects_per_day, requires_consent, async_when_down } = input
  const options = {
    name: read('name', () => readName(input.name)) ?? '',
    mode,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    expiresAt: read('expires_in', () => readExpiry(input)),
    allowedIps: read('allowed_ips', () => given(input.allowed_ips?.join(), readAddresses)),
    clientCerts: read('client_certs', () => given(input.client_certs?.join(), readClientCerts)),
    hide: read('hide', () => given(input.hide?.join(), readFields)) ?? [],
    reveal: read('reveal', () => given(input.reveal?.join(), readFields)) ?? [],
    subjectsPerDay: subjects_per_day,
    requiresConsent: requires_consent ?? false,
    asyncWhenDown: async_when_down ?? false,
    requireMatch: input.require_match,
    owner: read('owner', () => given(input.owner, readOwner)),
    note: read('note', () => given(input.note, readNote)),
  }
  requireValid()
  return options
}

/** Absent fields stay as they are; null or an empty value removes an option. */
export function readKeyChanges(input: ChangeInput): KeyChanges {
  const { read, requireValid } = createFieldReader()
  const changes: Partial<Record<keyof KeyChanges, unknown>> = {}
  const set = <Name extends keyof KeyChanges>(
    name: Name,
    field: keyof ChangeInput,
    work: () => KeyChanges[Name],
  ) => {
    if (input[field] !== undefined) changes[name] = read(field, work)
  }
  set('name', 'name', () => readName(input.name ?? ''))
  set('scopes', 'scopes', () => SCOPES.filter((scope) => input.scopes?.includes(scope)))
  set('expiresAt', 'expires_in', () => readExpiry(input))
  set('allowedIps', 'allowed_ips', () => given(input.allowed_ips?.join(), readAddresses))
  set('clientCerts', 'client_certs', () => given(input.client_certs?.join(), readClientCerts))
  set('hide', 'hide', () => given(input.hide?.join(), readFields) ?? [])
  set('reveal', 'reveal', () => given(input.reveal?.join(), readFields) ?? [])
  set('subjectsPerDay', 'subjects_per_day', () => input.subjects_per_day ?? undefined)
  set('requiresConsent', 'requires_consent', () => input.requires_consent ?? false)
  set('asyncWhenDown', 'async_when_down', () => input.async_when_down ?? false)
  set('requireMatch', 'require_match', () => input.require_match ?? undefined)
  set('owner', 'owner', () => given(input.owner, readOwner))
  set('note', 'note', () => given(input.note, readNote))
  requireValid()
  return changes as KeyChanges
}

function readExpiry({ expires_in }: Pick<ChangeInput, 'expires_in'>): number | undefined {
  const lifetimeMs = given(expires_in, readLifetime)
  return lifetimeMs === undefined ? undefined : steadyNow() + lifetimeMs
}

/** An empty form field is the same as none. */
const given = <T>(text: string | null | undefined, read: (text: string) => T): T | undefined =>
  text === undefined || text === null || text.trim() === '' ? undefined : read(text.trim())

export function readOverlap(text: string): number {
  try {
    return readKeyDuration(text)
  } catch (error) {
    if (!(error instanceof InvalidOption)) throw error
    throw new AppError('validation_failed', { errors: { overlap: [error.message] } })
  }
}
