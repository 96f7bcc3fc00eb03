import type { KeyTable } from './key-table.ts'
import { sandboxCaller } from './sandbox-key.ts'

type Keys = Pick<KeyTable, 'list'>
type KeyRows = Awaited<ReturnType<KeyTable['list']>>

/** The names of all keys, also of ended ones, by their id. */
export const readKeyNames = async (keys: Keys): Promise<Map<string, string>> => toKeyNames(await keys.list())

export const toKeyNames = (rows: KeyRows): Map<string, string> =>
  new Map([[sandboxCaller.keyId, 'public sandbox key'], ...rows.map(({ id, name }) => [id, name] as const)])

type NamedKey = {
  readonly key_id: string | null
  readonly key_name: string | null
  readonly mode: string | null
}

export type KeyNames = {
  readonly nameOf: (keyId: string | null) => string | null
  readonly ofKey: (keyId: string) => NamedKey
  /** A stored response belongs to a key and the keys that it was rolled to. The newest is named. */
  readonly ofLineage: (lineage: string) => NamedKey
}

/** The same, with the mode, and by the lineage. */
export async function openKeyNames(keys: Keys): Promise<KeyNames> {
  const rows = await keys.list()
  const names = toKeyNames(rows)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byLineage = new Map(
    rows.toSorted((one, other) => one.createdAt - other.createdAt).map((row) => [row.lineage, row]),
  )
  const nameOf = (keyId: string | null) => (keyId === null ? null : (names.get(keyId) ?? null))
  return {
    nameOf,
    ofKey: (keyId) => ({ key_id: keyId, key_name: nameOf(keyId), mode: byId.get(keyId)?.mode ?? null }),
    ofLineage: (lineage) => {
      const row = byLineage.get(lineage)
      // The sandbox key is in no table, and its lineage is its id.
      return { key_id: row?.id ?? lineage, key_name: row?.name ?? nameOf(lineage), mode: row?.mode ?? null }
    },
  }
}
