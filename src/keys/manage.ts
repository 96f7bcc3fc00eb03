import type { KeyObject } from 'node:crypto'
import { Refusal } from '../errors.ts'
import type { KeyRow } from '../store/key-table.ts'
import type { Store } from '../store/store.ts'
import { createApiKey, toKeyHash } from './api-key.ts'

/** The only moment at which the text of a key exists outside of its owner's hands. */
export type NewKey = { readonly text: string; readonly row: KeyRow }

export type KeyWishes = Pick<KeyRow, 'name' | 'mode' | 'scopes' | 'expiresAt' | 'allowedIps'>

export async function createKey(store: Store, pepper: KeyObject, wishes: KeyWishes): Promise<NewKey> {
  const { id, text } = createApiKey(wishes.mode)
  const row: KeyRow = {
    ...wishes,
    id,
    hash: toKeyHash(text, pepper),
    createdAt: Date.now(),
    revokedAt: undefined,
    rolledTo: undefined,
  }
  await store.keys.insert(row)
  return { text, row }
}

export async function revokeKey(store: Store, id: string): Promise<void> {
  const key = await store.keys.find(id)
  if (!key) throw toUnknownKey(id)
  if (!(await store.keys.revoke(id, Date.now()))) throw new Refusal(`Key ${id} was revoked before.`)
}

/** Makes a successor with the same rights and length of life, and lets the old key end after the overlap, both or neither. */
export async function rollKey(
  store: Store,
  pepper: KeyObject,
  id: string,
  overlapMs: number,
): Promise<NewKey> {
  return store.transaction(async (inside) => {
    const old = await inside.keys.find(id)
    if (!old) throw toUnknownKey(id)
    if (old.revokedAt !== undefined || (old.expiresAt ?? Number.POSITIVE_INFINITY) <= Date.now())
      throw new Refusal(`Key ${id} has ended. Make a new one with: tabbat keys create`)
    if (old.rolledTo !== undefined)
      throw new Refusal(`Key ${id} was rolled before; its successor is ${old.rolledTo}.`)
    const lifetimeMs = old.expiresAt === undefined ? undefined : old.expiresAt - old.createdAt
    const expiresAt = lifetimeMs === undefined ? undefined : Date.now() + lifetimeMs
    const successor = await createKey(inside, pepper, { ...old, expiresAt })
    await inside.keys.expire(id, Date.now() + overlapMs, successor.row.id)
    return successor
  })
}

/** The id is repeated only if it looks like one: somebody may have pasted the whole key. */
const toUnknownKey = (id: string) =>
  new Refusal(`There is no key ${/^[0-9A-Za-z]{8}$/.test(id) ? id : 'with this id'}. See: tabbat keys list`)
