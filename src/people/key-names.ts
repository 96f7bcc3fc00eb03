import { readKeyNames } from '../keys/key-names.ts'
import type { KeyTable } from '../store/key-table.ts'

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

export async function openKeyNames(table: Pick<KeyTable, 'list'>): Promise<KeyNames> {
  const rows = await table.list()
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byLineage = new Map(
    rows.toSorted((one, other) => one.createdAt - other.createdAt).map((row) => [row.lineage, row]),
  )
  const names = await readKeyNames(table)
  const nameOf = (keyId: string | null) => (keyId === null ? null : (names.get(keyId) ?? null))
  return {
    nameOf,
    ofKey: (keyId) => ({ key_id: keyId, key_name: nameOf(keyId), mode: byId.get(keyId)?.mode ?? null }),
    ofLineage: (lineage) => {
      const row = byLineage.get(lineage)
      return { key_id: row?.id ?? lineage, key_name: row?.name ?? null, mode: row?.mode ?? null }
    },
  }
}
