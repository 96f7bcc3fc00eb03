import { isConfirmed } from '../../accounts/confirmed.ts'
import { auditBy } from '../../audit/audit-by.ts'
import { AdminError } from '../../contract/admin-error.ts'
import { type Actor, isAtLeast } from '../../contract/role.ts'
import type { Static } from '../../contract/schema.ts'
import { type Mode, SCOPES } from '../../contract/scope.ts'
import { DAY_MS, steadyNow } from '../../contract/time.ts'
import { SUBJECTS_PER_DAY } from '../../keys/api-key.ts'
import { changeKey } from '../../keys/change-key.ts'
import { listFieldGroups, toHiddenFields } from '../../keys/field-policy.ts'
import { OVERLAP } from '../../keys/key-options.ts'
import { toKeyView } from '../../keys/key-view.ts'
import { createKey, type KeyDeps, type NewKey, revokeKey, rollKey } from '../../keys/manage.ts'
import { toSpanName } from '../../ledger/span.ts'
import { toBvnRecord } from '../../sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../sources/sandbox/nin-record.ts'
import { mask } from '../../verification/mask.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { readKeyChanges, readKeyOptions, readOverlap } from '../key-request.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Ok } from '../shapes/fields.ts'
import {
  ChangedKey,
  ChangeKeyRequest,
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
  summary: 'Revoke a key. It stops working within a second on this server, within five on others.',
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
