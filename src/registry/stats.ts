import type { Keyring } from '../crypto/keyring.ts'
import { KINDS, type Kind } from '../crypto/mac.ts'
import type { MetaTable } from '../database/meta-table.ts'
import type { RegistryTable } from './registry-table.ts'

export type RegistryCounts = {
  readonly records: Readonly<Record<Kind, number>>
  readonly pictures: number
  /** Records by version of the root key. */
  readonly sealed_under: Readonly<Record<string, number>>
}

type RegistryStats = RegistryCounts & {
  readonly place: string
  readonly root_version: number
  readonly rotation_under_way: boolean
}

/** Counts the records without unsealing them. Reads the whole table. */
export async function countRecords({
  registry,
}: {
  readonly registry: RegistryTable
}): Promise<RegistryCounts> {
  const counted = (await registry.count()).filter(({ kind }) => KINDS.includes(kind))
  const sum = (wanted: (row: (typeof counted)[number]) => boolean) =>
    counted.filter(wanted).reduce((total, { records }) => total + records, 0)
  const versions = [...new Set(counted.map(({ keyVersion }) => keyVersion))].toSorted((a, b) => a - b)
  return {
    records: { nin: sum(({ kind }) => kind === 'nin'), bvn: sum(({ kind }) => kind === 'bvn') },
    pictures: await registry.countMedia(),
    sealed_under: Object.fromEntries(
      versions.map((sealing) => [sealing, sum(({ keyVersion }) => keyVersion === sealing)]),
    ),
  }
}

export async function readRegistryStats(
  store: { readonly registry: RegistryTable; readonly meta: MetaTable; readonly place: string },
  { version }: Pick<Keyring, 'version'>,
): Promise<RegistryStats> {
  const { records, pictures, sealed_under } = await countRecords(store)
  return {
    place: store.place,
    records,
    pictures,
    root_version: version,
    sealed_under,
    rotation_under_way: (await store.meta.read()).root_previous_fingerprint !== undefined,
  }
}
