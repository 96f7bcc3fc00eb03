import type { KeyObject } from 'node:crypto'
import { Refusal } from '../errors.ts'
import type { KeyRow } from '../store/key-table.ts'
import type { Store } from '../store/store.ts'
import { createApiKey, toKeyHash } from './api-key.ts'

/** The only moment at which the text of a key exists outside of its owner's hands. */
export type NewKey = { readonly text: string; readonly row: KeyRow }

export type KeyWishes = Pick<KeyRow, 'name' | 'mode' | 'scopes' | 'expiresAt' | 'allowedIps'> &
  Partial<Pick<KeyRow, 'hide' | 'reveal' | 'subjectsPerDay'>>

export async function createKey(store: Store, pepper: KeyObject, wishes: KeyWishes): Promise<NewKey> {
  const made = toNewKey(pepper, wishes)
  await store.keys.insert(made.row)
  return made
}

function toNewKey(pepper: KeyObject, wishes: KeyWishes): NewKey {
  const { id, text } = createApiKey(wishes.mode)
  const { name, mode, scopes, expiresAt, allowedIps, hide = [], reveal = [], subjectsPerDay } = wishes
  const row: KeyRow = {
    id,
    mode,
    name,
    hash: toKeyHash(text, pepper),
    scopes,
    allowedIps,
    createdAt: Date.now(),
    expiresAt,
    revokedAt: undefined,
    rolledTo: undefined,
    hide,
    reveal,
    subjectsPerDay,
  }
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
  const old = await store.keys.find(id)
  if (!old) throw toUnknownKey(id)
  if (old.revokedAt !== undefined || (old.expiresAt ?? Number.POSITIVE_INFINITY) <= Date.now())
    throw new Refusal(`Key ${id} has ended. Make a new one with: tabbat keys create`)
  if (old.rolledTo !== undefined)
    throw new Refusal(`Key ${id} was rolled before; its successor is ${old.rolledTo}.`)
  const lifetimeMs = old.expiresAt === undefined ? undefined : old.expiresAt - old.createdAt
  const expiresAt = lifetimeMs === undefined ? undefined : Date.now() + lifetimeMs
  const successor = toNewKey(pepper, { ...old, expiresAt })
  await store.keys.roll(id, successor.row, Date.now() + overlapMs)
  return successor
}

/** The id is repeated only if it looks like one: somebody may have pasted the whole key. */
const toUnknownKey = (id: string) =>
  new Refusal(`There is no key ${/^[0-9A-Za-z]{8}$/.test(id) ? id : 'with this id'}. See: tabbat keys list`)
