import { isConfirmed } from '../accounts/sessions.ts'
import { auditBy } from '../audit/audit-log.ts'
import { AdminError } from '../contract/error.ts'
import { REVOKED_WITHIN } from '../contract/revocation.ts'
import { type Actor, isAtLeast } from '../contract/role.ts'
import { type Static, type TSchema, Type } from '../contract/schema.ts'
import { SCOPES } from '../contract/scope.ts'
import { DAY_MS, steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import { listFieldGroups, mask, toHiddenFields } from '../keys/field-policy.ts'
import { InvalidOption, OVERLAP, readKeyDuration, readLifetime, readName } from '../keys/key-options.ts'
import {
  changeKey,
  createKey,
  type KeyChanges,
  type KeyDeps,
  type KeyOptions,
  type NewKey,
  revokeKey,
  rollKey,
  toKeyView,
} from '../keys/manage.ts'
import {
  type AnyOption,
  FieldNames,
  type KEY_OPTIONS,
  listOptions,
  type OptionField,
  type OptionValues,
} from '../keys/options.ts'
import { toSpanName } from '../ledger/tally.ts'
import { toBvnRecord } from '../sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../sources/sandbox/nin-record.ts'
import type { AdminDeps } from './admin-deps.ts'
import { createFieldReader, done, Kind, Mode, Ok, Scope, strict, Time } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'

type Options = typeof KEY_OPTIONS
type Views = { [Field in OptionField]: Options[Field]['view'] }
type Inputs = { [Field in OptionField]: ReturnType<typeof Type.Optional<Options[Field]['input']>> }
type Changes = {
  [Field in OptionField]: ReturnType<
    typeof Type.Optional<ReturnType<typeof Type.Nullable<Options[Field]['input']>>>
  >
}

const toProperties = (toSchema: (option: AnyOption) => TSchema): unknown =>
  Object.fromEntries(listOptions().map(([field, option]) => [field, toSchema(option)]))

const Key = Type.Object({
  id: Type.String(),
  name: Type.String(),
  mode: Mode,
  state: Type.Enum(['active', 'revoked', 'expired'] as const),
  scopes: Type.Array(Scope),
  ...(toProperties(({ view }) => view) as Views),
  created_at: Type.Nullable(Time),
  expires_at: Type.Nullable(Time),
  revoked_at: Type.Nullable(Time),
  rolled_to: Type.Nullable(Type.String()),
})

/** Verifications of the last 30 days, and the hour of the last one. */
const usage = { verifications_30d: Type.Integer(), last_used_at: Type.Nullable(Time) }
export const KeyWithUsage = Type.Object({ ...Key.properties, ...usage })
export type KeyWithUsage = Static<typeof KeyWithUsage>

/** Fields that a key may hide or reveal, by group, in contract order. */
export const FieldGroup = Type.Object({
  group: Type.String(),
  fields: Type.Array(
    Type.Object({
      name: Type.String(),
      hidden_by_default: Type.Boolean(),
      /** Hidden too if one of these is hidden. */
      derived_from: Type.Array(Type.String()),
    }),
  ),
})
/** An option of a key, for a form and for a list of its options. */
export const KeyOptionField = Type.Object({
  field: Type.String(),
  kind: Type.Enum(['list', 'fields', 'count', 'switch', 'choice', 'text'] as const),
  label: Type.String(),
  help: Type.Nullable(Type.String()),
  example: Type.Nullable(Type.String()),
  choices: Type.Array(Type.Object({ value: Type.String(), text: Type.String() })),
  max_length: Type.Nullable(Type.Integer()),
  /** Of a number. */
  default: Type.Nullable(Type.Integer()),
  /** The text for a key without it. */
  none: Type.String(),
})
export type KeyOptionField = Static<typeof KeyOptionField>

export const toOptionField = ([field, option]: [OptionField, AnyOption]): KeyOptionField => ({
  field,
  kind: option.kind,
  label: option.label,
  help: option.hint ?? null,
  example: option.example ?? null,
  choices: Object.entries(option.choices ?? {}).map(([value, text]) => ({ value, text })),
  max_length: (option.input as { maxLength?: number }).maxLength ?? null,
  default: option.default ?? null,
  none: 'word' in option.change ? option.change.word : 'no',
})

export const Keys = Type.Object({
  keys: Type.Array(KeyWithUsage),
  scopes: Type.Array(Scope),
  field_groups: Type.Array(FieldGroup),
  options: Type.Array(KeyOptionField),
})
export type Keys = Static<typeof Keys>

export const CreateKeyRequest = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 80, 'x-rule': 'must have 1 to 80 characters' }),
    mode: Mode,
    scopes: Type.Array(Scope, { minItems: 1, 'x-rule': 'must contain at least one scope' }),
    /** A duration such as 12h, 90d, 1y. Absent: never. */
    expires_in: Type.Optional(Type.String({ maxLength: 20 })),
    ...(toProperties(({ input }) => Type.Optional(input)) as Inputs),
  },
  strict,
)
/** Absent: unchanged. Null, or an empty list: removed. */
export const ChangeKeyRequest = Type.Object(
  {
    name: Type.Optional(CreateKeyRequest.properties.name),
    scopes: Type.Optional(CreateKeyRequest.properties.scopes),
    /** A duration from now, such as 90d. Null: never. */
    expires_in: Type.Optional(Type.Nullable(Type.String({ maxLength: 20 }))),
    ...(toProperties(({ input, none }) =>
      Type.Optional(none === undefined ? Type.Nullable(input) : input),
    ) as Changes),
  },
  strict,
)
const ChangedKey = Type.Object({ row: Key })
/** `key` is returned only here. */
export const CreatedKey = Type.Object({ key: Type.String(), row: Key })
export type CreatedKey = Static<typeof CreatedKey>
const RollKeyRequest = Type.Object({ overlap: Type.Optional(Type.String({ maxLength: 20 })) }, strict)

/** A response for a key with this field policy, about a synthetic person. */
const PreviewRequest = Type.Object({ kind: Kind, hide: FieldNames, reveal: FieldNames }, strict)
export const Preview = Type.Object({ answer: Type.Unsafe<Record<string, unknown>>({ type: 'object' }) })

const tag = 'Keys'
const USAGE_MS = 30 * DAY_MS

const toKeyDeps = (deps: AdminDeps, actor: Actor): KeyDeps => ({
  store: deps.context.store,
  keyring: deps.context.keyring(),
  audit: auditBy(deps, actor),
  allow: ({ reveal, mode }) => {
    requireOwnerToReveal(actor, reveal)
    requireProofForLive(actor, mode)
  },
})

const listKeys = defineRoute({
  name: 'list_keys',
  tag,
  method: 'GET',
  path: '/admin/keys',
  summary: 'API keys without their secrets, their usage, and the options for a new key.',
  role: 'viewer',
  output: Keys,
  run: async (deps) => ({
    keys: await listKeysWithUsage(deps),
    scopes: [...SCOPES],
    field_groups: listFieldGroups(),
    options: listOptions().map(toOptionField),
  }),
})

export async function listKeysWithUsage({ context: { store } }: AdminDeps): Promise<KeyWithUsage[]> {
  const since = toSpanName('day', new Date(steadyNow() - USAGE_MS).toISOString())
  const usage = new Map((await store.statistics.usageByKey(since)).map((used) => [used.key_id, used]))
  return (await store.keys.list()).map((row) => {
    const used = usage.get(row.id)
    return {
      ...toKeyView(row),
      verifications_30d: used?.verifications ?? 0,
      last_used_at: used ? `${used.last_hour}:00:00.000Z` : null,
    }
  })
}

const createKeyRoute = defineRoute({
  name: 'create_key',
  tag,
  method: 'POST',
  path: '/admin/keys',
  summary:
    'Create a key. The key is returned only here. Only an owner may create one that reveals hidden fields.',
  role: 'operator',
  isSensitiveIfLive: true,
  input: CreateKeyRequest,
  output: CreatedKey,
  run: async (deps, { input, actor }) => {
    const options = readKeyOptions(input)
    requireOwnerToReveal(actor, options.reveal)
    requireProofForLive(actor, options.mode)
    return toCreatedKey(await createKey(toKeyDeps(deps, actor), options))
  },
})

function requireOwnerToReveal({ role }: Actor, reveal: readonly string[] = []): void {
  if (reveal.length > 0 && !isAtLeast(role, 'owner'))
    throw new AdminError('wrong_role', {
      message: 'Only an owner may create, change or roll a key that reveals hidden fields.',
    })
}

/** A live key reads data of people and stays when the session or the token ends, so a stolen cookie or token makes none. */
function requireProofForLive(actor: Actor, mode: Mode): void {
  if (mode !== 'live') return
  if (actor.token !== undefined)
    throw new AdminError('session_required', {
      message:
        'A token may not create, change or roll a live key. Sign in to the console, or use the command line.',
    })
  if (!isConfirmed(actor)) throw new AdminError('confirm_first')
}

const toCreatedKey = ({ text, row }: NewKey): Static<typeof CreatedKey> => ({
  key: text,
  row: toKeyView(row),
})

const change = defineRoute({
  name: 'change_key',
  tag,
  method: 'POST',
  path: '/admin/keys/:id/change',
  summary:
    'Change the options of a key; its secret stays the same. Only an owner may change a key that reveals hidden fields.',
  role: 'operator',
  isSensitiveIfLive: true,
  input: ChangeKeyRequest,
  output: ChangedKey,
  run: async (deps, { input, params: { id = '' }, actor }) => {
    const changes = readKeyChanges(input)
    requireOwnerToReveal(actor, changes.reveal)
    return { row: toKeyView(await changeKey(toKeyDeps(deps, actor), id, changes)) }
  },
})

const revoke = defineRoute({
  name: 'revoke_key',
  tag,
  method: 'POST',
  path: '/admin/keys/:id/revoke',
  summary: `Revoke a key. It is refused ${REVOKED_WITHIN}.`,
  role: 'operator',
  output: Ok,
  run: async (deps, { params, actor }) => {
    await revokeKey(toKeyDeps(deps, actor), params.id ?? '')
    return done
  },
})

const roll = defineRoute({
  name: 'roll_key',
  tag,
  method: 'POST',
  path: '/admin/keys/:id/roll',
  summary:
    'Replace a key with a new one that has the same options. The old key works until the overlap ends.',
  role: 'operator',
  isSensitiveIfLive: true,
  input: RollKeyRequest,
  output: CreatedKey,
  run: async (deps, { input, params: { id = '' }, actor }) => {
    const overlapMs = readOverlap(input.overlap?.trim() || OVERLAP)
    return toCreatedKey(await rollKey(toKeyDeps(deps, actor), id, overlapMs))
  },
})

const preview = defineRoute({
  name: 'preview_key',
  tag,
  method: 'POST',
  path: '/admin/keys/preview',
  summary: 'The response to a key with this field policy, about a synthetic person.',
  role: 'viewer',
  input: PreviewRequest,
  output: Preview,
  run: async (_deps, { input: { kind, hide, reveal } }) => {
    const record = kind === 'nin' ? toNinRecord('12345678901', PHONE) : toBvnRecord('22345678901', PHONE)
    return { answer: mask<object>(record, toHiddenFields(hide, reveal)) as Record<string, unknown> }
  },
})

const PHONE = '8031234567'

export const KEY_ROUTES: readonly AdminRoute[] = [listKeys, createKeyRoute, preview, change, revoke, roll]

type CreateInput = Static<typeof CreateKeyRequest>
type ChangeInput = Static<typeof ChangeKeyRequest>

/** Uses the parsers of the command line. Reports every invalid field. */
function readKeyOptions(input: CreateInput): KeyOptions {
  const { read, requireValid } = createFieldReader()
  const options = {
    name: read('name', () => readName(input.name)) ?? '',
    mode: input.mode,
    scopes: SCOPES.filter((scope) => input.scopes.includes(scope)),
    expiresAt: read('expires_in', () => readExpiry(input)),
    ...readGiven(input, read),
  }
  requireValid()
  return options
}

/** Absent fields stay as they are; null or an empty value removes an option. */
function readKeyChanges(input: ChangeInput): KeyChanges {
  const { read, requireValid } = createFieldReader()
  const { name, scopes, expires_in } = input
  const changes = {
    ...(name !== undefined && { name: read('name', () => readName(name)) ?? '' }),
    ...(scopes && { scopes: SCOPES.filter((scope) => scopes.includes(scope)) }),
    ...(expires_in !== undefined && { expiresAt: read('expires_in', () => readExpiry(input)) }),
    ...readGiven(input, read),
  }
  requireValid()
  return changes
}

type ReadField = ReturnType<typeof createFieldReader>['read']

/** The options that the input has. */
const readGiven = (input: Pick<ChangeInput, OptionField>, read: ReadField): Partial<OptionValues> =>
  Object.fromEntries(
    listOptions()
      .filter(([field]) => input[field] !== undefined)
      .map(([field, option]) => [option.property, read(field, () => readOption(option, input[field]))]),
  )

function readOption({ none, read }: AnyOption, value: unknown): unknown {
  const given = Array.isArray(value) ? value.join() : value
  if (given === null || (typeof given === 'string' && given.trim() === '')) return none
  return typeof given === 'string' && read ? read(given.trim()) : given
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
