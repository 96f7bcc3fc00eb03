import { UserError } from '../errors.ts'
import { toChangedText } from './key-grants.ts'
import type { KeyRow } from './key-rows.ts'
import { toKeyState } from './key-view.ts'
import { type KeyDeps, toKeyEntry, toLifetime, toUnknownKey } from './manage.ts'

/** The options to change. An option that is present and undefined is removed; an absent one stays as it is. */
export type KeyChanges = Partial<
  Omit<KeyRow, 'id' | 'mode' | 'hash' | 'createdAt' | 'lifetimeMs' | 'revokedAt' | 'rolledTo' | 'lineage'>
>

/** Changes a key and leaves its secret as it is. Running servers follow as they do for a revocation. */
export async function changeKey(
  { store, audit, allow }: Pick<KeyDeps, 'store' | 'audit' | 'allow'>,
  id: string,
  changes: KeyChanges,
): Promise<KeyRow> {
  const before = await findChangeable(store, id)
  allow?.(before)
  const lifetime = 'expiresAt' in changes && { lifetimeMs: toLifetime(changes.expiresAt) }
  const after: KeyRow = { ...before, ...changes, ...lifetime }
  const changed = toChangedText(before, after)
  if (changed === undefined) throw new UserError(`Key ${id} has these options already. Nothing was changed.`)
  const entry = toKeyEntry('key_changed', before, changed)
  await audit.record([entry])
  if (await store.keys.change(before, after)) return after
  await audit.record([{ ...entry, outcome: 'refused' }])
  throw new UserError(`Key ${id} was changed by another meanwhile, so nothing was changed. Try it again.`)
}

async function findChangeable({ keys }: KeyDeps['store'], id: string): Promise<KeyRow> {
  const key = await keys.find(id)
  if (!key) throw toUnknownKey(id)
  if (toKeyState(key) !== 'active')
    throw new UserError(`Key ${id} has ended. Create a new one with: tabbat keys create`)
  if (key.rolledTo !== undefined)
    throw new UserError(`Key ${id} was rolled. Change its successor ${key.rolledTo}, or revoke it.`)
  return key
}
