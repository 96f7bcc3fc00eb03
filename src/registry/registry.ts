import type { Kind } from '../crypto/blind-index.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { RegistryTable, SealedRecord } from '../store/registry-table.ts'
import { createBlankRecord, type Entry } from './record-codec.ts'
import { sealEntry, toSubject, UnknownKeyVersion, unsealEntry, unsealMedia } from './sealed-entry.ts'

/** The operator's own records, found by number and opened. */
export type Registry = {
  readonly find: <K extends Kind>(kind: K, number: string) => Promise<Entry<K> | undefined>
  readonly isEmpty: (kind: Kind) => Promise<boolean>
  readonly findPicture: (id: Uint8Array) => Promise<Buffer | undefined>
}

type RegistryOptions = {
  readonly table: Pick<RegistryTable, 'find' | 'findMedia' | 'isEmpty'>
  readonly keyring: () => Keyring
  /** Loads the keys anew, after a rotation by another process. */
  readonly reloadKeyring: () => Promise<Keyring>
}

/** An empty registry is no source; a filled one is never empty again, so that answer is kept. */
const EMPTY_FOR_MS = 1000

export function createRegistry({ table, keyring, reloadKeyring }: RegistryOptions): Registry {
  const filled = new Set<Kind>()
  const emptyUntil = new Map<Kind, number>()
  const decoys = { nin: createDecoy(keyring(), 'nin'), bvn: createDecoy(keyring(), 'bvn') }

  const open = async <T>(work: (keys: Keyring) => T): Promise<T> => {
    try {
      return work(keyring())
    } catch (error) {
      if (!(error instanceof UnknownKeyVersion)) throw error
      return work(await reloadKeyring())
    }
  }

  return {
    find: async (kind, number) => {
      const subject = toSubject(keyring(), kind, number)
      const row = await table.find(subject)
      if (row) return open((keys) => unsealEntry(keys, kind, subject, row))
      // A number nobody has takes as long as one that somebody has: something is opened all the same.
      const decoy = decoys[kind]
      unsealEntry(decoy.keys, kind, decoy.row.subject, decoy.row)
      return undefined
    },
    isEmpty: async (kind) => {
      if (filled.has(kind)) return false
      if ((emptyUntil.get(kind) ?? 0) > Date.now()) return true
      if (await table.isEmpty(kind)) {
        emptyUntil.set(kind, Date.now() + EMPTY_FOR_MS)
        return true
      }
      filled.add(kind)
      return false
    },
    findPicture: async (id) => {
      const row = await table.findMedia(id)
      return row && open((keys) => unsealMedia(keys, id, row))
    },
  }
}

type Decoy = { readonly keys: Keyring; readonly row: SealedRecord }

/** A record of nobody, of usual size. */
const createDecoy = (keys: Keyring, kind: Kind): Decoy => ({
  keys,
  row: sealEntry(keys, kind, '00000000000', {
    record: createBlankRecord(kind, 'nobody here'),
    mediaId: null,
  }),
})
