import type { Kind } from '../crypto/mac.ts'
import { KINDS } from '../crypto/mac.ts'
import type { KeyTable } from '../keys/key-table.ts'
import { toKeyState } from '../keys/manage.ts'
import type { SourceSettings } from '../sources/settings.ts'
import type { RegistryTable } from './registry-table.ts'

type Stored = { readonly registry: Pick<RegistryTable, 'isEmpty'> }
type Order = Pick<SourceSettings, 'ninSources' | 'bvnSources'>

/** Why live requests of a kind get 503, if the registry is their only source and has no records of that kind. */
export async function findEmptyRegistry(
  { registry }: Stored,
  config: Order,
  kind: Kind,
): Promise<string | undefined> {
  const isOnlySource = config[`${kind}Sources`].every((name) => name === 'registry')
  if (!isOnlySource || !(await registry.isEmpty(kind))) return undefined
  const name = kind.toUpperCase()
  return `No ${name} records are imported, and TABBAT_${name}_SOURCES names no vendor: live ${name} requests get 503. Run: tabbat import ${kind} FILE`
}

/** The same for each kind that an active live key may ask about. Without such a key, no request gets 503. */
export async function listEmptyRegistries(
  store: Stored & { readonly keys: Pick<KeyTable, 'list'> },
  config: Order,
): Promise<{ readonly kind: Kind; readonly text: string }[]> {
  const found = await Promise.all(
    KINDS.map(async (kind) => ({ kind, text: await findEmptyRegistry(store, config, kind) })),
  )
  const empty = found.flatMap(({ kind, text }) => (text === undefined ? [] : [{ kind, text }]))
  if (empty.length === 0) return []
  const live = (await store.keys.list()).filter((row) => row.mode === 'live' && toKeyState(row) === 'active')
  return empty.filter(({ kind }) => live.some(({ scopes }) => scopes.includes(`kyc:${kind}`)))
}
