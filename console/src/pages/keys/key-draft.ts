import type { ChangeKeyRequest, CreateKeyRequest, Keys, KeyWithUsage } from '../../../../src/admin/keys.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { toList } from '../../components/access-fields.tsx'
import type { Policy } from './field-policy.tsx'

type KeyRequest = Static<typeof CreateKeyRequest>
type ChangeRequest = Static<typeof ChangeKeyRequest>

/** In a change: the expiry stays as it is. */
export const AS_BEFORE = 'unchanged'

/** The state of the form. */
export type KeyDraft = {
  readonly name: string
  readonly mode: KeyRequest['mode']
  readonly scopes: KeyRequest['scopes']
  readonly expiry: string
  readonly addresses: string
  readonly certificates: string
  readonly cap: string
  readonly isConsentRequired: boolean
  readonly isAsyncWhenDown: boolean
  readonly match: string
  readonly owner: string
  readonly note: string
  readonly policy: Policy
}

export const toNewDraft = (keys: Keys): KeyDraft => ({
  name: '',
  mode: 'test',
  scopes: [...keys.scopes],
  expiry: '',
  addresses: '',
  certificates: '',
  cap: '',
  isConsentRequired: false,
  isAsyncWhenDown: false,
  match: '',
  owner: '',
  note: '',
  policy: { hide: [], reveal: [] },
})

export const toDraft = (keys: Keys, row: KeyWithUsage): KeyDraft => ({
  name: row.name,
  mode: row.mode,
  scopes: row.scopes,
  expiry: AS_BEFORE,
  addresses: row.allowed_ips?.join(', ') ?? '',
  certificates: row.client_certs?.join(', ') ?? '',
  cap: row.subjects_per_day === keys.subjects_per_day_default ? '' : String(row.subjects_per_day),
  isConsentRequired: row.requires_consent,
  isAsyncWhenDown: row.async_when_down,
  match: row.require_match ?? '',
  owner: row.owner ?? '',
  note: row.note ?? '',
  policy: { hide: toFields(keys, row.hide), reveal: toFields(keys, row.reveal) },
})

/** A word of the command line may stand for a group of fields. The form has single fields. */
const toFields = ({ field_groups }: Keys, words: readonly string[]): string[] =>
  field_groups
    .flatMap(({ fields }) => fields.map(({ name }) => name))
    .filter((name) =>
      words.some((word) => name === word || name.startsWith(`${word}.`) || name.endsWith(`.${word}`)),
    )

export function toCreateRequest(draft: KeyDraft): KeyRequest {
  const [addresses, certificates] = [toList(draft.addresses), toList(draft.certificates)]
  const { hide, reveal } = draft.policy
  return {
    name: draft.name.trim(),
    mode: draft.mode,
    scopes: draft.scopes,
    ...(draft.expiry === '' ? {} : { expires_in: draft.expiry }),
    ...(addresses.length === 0 ? {} : { allowed_ips: addresses }),
    ...(certificates.length === 0 ? {} : { client_certs: certificates }),
    ...(hide.length === 0 ? {} : { hide: [...hide] }),
    ...(reveal.length === 0 ? {} : { reveal: [...reveal] }),
    ...(draft.cap.trim() === '' ? {} : { subjects_per_day: Number(draft.cap) }),
    ...(draft.isConsentRequired ? { requires_consent: true } : {}),
    ...(draft.isAsyncWhenDown ? { async_when_down: true } : {}),
    ...(draft.match === '' ? {} : { require_match: draft.match as NonNullable<KeyRequest['require_match']> }),
    ...(draft.owner.trim() === '' ? {} : { owner: draft.owner.trim() }),
    ...(draft.note.trim() === '' ? {} : { note: draft.note.trim() }),
  }
}

/** Only what differs from the draft before, so that two changes of different options do not undo each other. */
export function toChangeRequest(before: KeyDraft, draft: KeyDraft): ChangeRequest {
  const whole: { [Name in keyof ChangeRequest]-?: readonly [keyof KeyDraft, ChangeRequest[Name]] } = {
    name: ['name', draft.name.trim()],
    scopes: ['scopes', draft.scopes],
    expires_in: ['expiry', draft.expiry === '' ? null : draft.expiry],
    allowed_ips: ['addresses', toList(draft.addresses)],
    client_certs: ['certificates', toList(draft.certificates)],
    hide: ['policy', [...draft.policy.hide]],
    reveal: ['policy', [...draft.policy.reveal]],
    subjects_per_day: ['cap', draft.cap.trim() === '' ? null : Number(draft.cap)],
    requires_consent: ['isConsentRequired', draft.isConsentRequired],
    async_when_down: ['isAsyncWhenDown', draft.isAsyncWhenDown],
    require_match: ['match', (draft.match || null) as ChangeRequest['require_match']],
    owner: ['owner', draft.owner],
    note: ['note', draft.note],
  }
  const isChanged = (name: keyof KeyDraft) => JSON.stringify(before[name]) !== JSON.stringify(draft[name])
  const changed = Object.entries(whole).filter(([, [name]]) => isChanged(name))
  return Object.fromEntries(changed.map(([field, [, value]]) => [field, value])) as ChangeRequest
}
