import { auditBy } from '../../audit/audit-by.ts'
import { AdminError } from '../../contract/admin-error.ts'
import { type Actor, isAtLeast } from '../../contract/role.ts'
import type { Static } from '../../contract/schema.ts'
import { SCOPES } from '../../contract/scope.ts'
import { DAY_MS, steadyNow } from '../../contract/time.ts'
import { AppError } from '../../errors.ts'
import { SUBJECTS_PER_DAY } from '../../keys/api-key.ts'
import { listFieldGroups, toHiddenFields } from '../../keys/field-policy.ts'
import {
  InvalidOption,
  OVERLAP,
  readAddresses,
  readFields,
  readKeyDuration,
  readLifetime,
  readName,
} from '../../keys/key-options.ts'
import { toKeyView } from '../../keys/key-view.ts'
import {
  createKey,
  type KeyDeps,
  type KeyOptions,
  type NewKey,
  revokeKey,
  rollKey,
} from '../../keys/manage.ts'
import { toBvnRecord } from '../../sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../sources/sandbox/nin-record.ts'
import { toSpanName } from '../../store/statistics-table.ts'
import { mask } from '../../verification/mask.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Ok } from '../shapes/fields.ts'
import {
  CreatedKey,
  CreateKeyRequest,
  Keys,
  type KeyWithUsage,
  Preview,
  PreviewRequest,
  RollKeyRequest,
} from '../shapes/keys.ts'

const done = { ok: true } as const
const tag = 'Keys'
const USAGE_MS = 30 * DAY_MS

const toKeyDeps = (deps: AdminDeps, actor: Actor): KeyDeps => ({
  store: deps.context.store,
  keyring: deps.context.keyring(),
  audit: auditBy(deps, actor),
})

const listKeys = defineRoute({
  name: 'list_keys',
  tag,
  method: 'GET',
  path: '/admin/keys',
  summary: 'The API keys without their secrets, how much each was used, and what a new one can be given.',
  role: 'viewer',
  output: Keys,
  run: async (deps) => ({
    keys: await listKeysWithUsage(deps),
    scopes: [...SCOPES],
    field_groups: listFieldGroups(),
    subjects_per_day_default: SUBJECTS_PER_DAY,
  }),
})

async function listKeysWithUsage({ context: { store } }: AdminDeps): Promise<KeyWithUsage[]> {
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
    'Make a key. It is shown in this answer and never again. One that reveals hidden fields needs an owner.',
  role: 'operator',
  input: CreateKeyRequest,
  output: CreatedKey,
  run: async (deps, { input, actor }) => {
    const options = readKeyOptions(input)
    requireOwnerToReveal(actor, options.reveal)
    return toCreatedKey(await createKey(toKeyDeps(deps, actor), options))
  },
})

/** With the same readers as the command line; what does not fit is named field by field. */
function readKeyOptions(input: Static<typeof CreateKeyRequest>): KeyOptions {
  const errors: Record<string, string[]> = {}
  const read = <T>(field: keyof typeof input, work: () => T): T | undefined => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof InvalidOption)) throw error
      errors[field] = [error.message]
      return undefined
    }
  }
  const { mode, scopes, expires_in, subjects_per_day, requires_consent } = input
  const name = read('name', () => readName(input.name)) ?? ''
  const lifetimeMs = read('expires_in', () => given(expires_in?.trim(), readLifetime))
  const allowedIps = read('allowed_ips', () => given(input.allowed_ips?.join(), readAddresses))
  const hide = read('hide', () => given(input.hide?.join(), readFields)) ?? []
  const reveal = read('reveal', () => given(input.reveal?.join(), readFields)) ?? []
  if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
  return {
    name,
    mode,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    expiresAt: lifetimeMs === undefined ? undefined : steadyNow() + lifetimeMs,
    allowedIps,
    hide,
    reveal,
    subjectsPerDay: subjects_per_day,
    requiresConsent: requires_consent ?? false,
  }
}

/** A form that was left empty asks for nothing. */
const given = <T>(text: string | undefined, read: (text: string) => T): T | undefined =>
  text === undefined || text === '' ? undefined : read(text)

function requireOwnerToReveal({ role }: Actor, reveal: readonly string[] = []): void {
  if (reveal.length > 0 && !isAtLeast(role, 'owner'))
    throw new AdminError('wrong_role', {
      message: 'Only an owner may make a key that reveals hidden fields.',
    })
}

const toCreatedKey = ({ text, row }: NewKey): Static<typeof CreatedKey> => ({
  key: text,
  row: toKeyView(row),
})

const revoke = defineRoute({
  name: 'revoke_key',
  tag,
  method: 'POST',
  path: '/admin/keys/:id/revoke',
  summary: 'End a key now; servers obey within a second.',
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
  summary: 'Replace a key by a new one with the same rights. The old one works until the overlap is over.',
  role: 'operator',
  input: RollKeyRequest,
  output: CreatedKey,
  run: async (deps, { input, params: { id = '' }, actor }) => {
    const overlapMs = readOverlap(input.overlap?.trim() || OVERLAP)
    requireOwnerToReveal(actor, (await deps.context.store.keys.find(id))?.reveal)
    return toCreatedKey(await rollKey(toKeyDeps(deps, actor), id, overlapMs))
  },
})

function readOverlap(text: string): number {
  try {
    return readKeyDuration(text)
  } catch (error) {
    if (!(error instanceof InvalidOption)) throw error
    throw new AppError('validation_failed', { errors: { overlap: [error.message] } })
  }
}

const preview = defineRoute({
  name: 'preview_key',
  tag,
  method: 'POST',
  path: '/admin/keys/preview',
  summary: 'What a key with these fields would be answered, for somebody who does not exist.',
  role: 'viewer',
  input: PreviewRequest,
  output: Preview,
  run: async (_deps, { input: { kind, hide, reveal } }) => {
    const record = kind === 'nin' ? toNinRecord('12345678901', PHONE) : toBvnRecord('22345678901', PHONE)
    return { answer: mask<object>(record, toHiddenFields(hide, reveal)) as Record<string, unknown> }
  },
})

const PHONE = '8031234567'

export const KEY_ROUTES: readonly AdminRoute[] = [listKeys, createKeyRoute, preview, revoke, roll]
