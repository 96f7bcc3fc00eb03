import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { toLocalPhone } from '../contract/person.ts'
import { createBlankRecord } from '../contract/record.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Kind } from '../crypto/mac.ts'
import type { RootKeySettings } from '../crypto/root-key.ts'
import { BrokenSeal } from '../crypto/seal.ts'
import { loadKeyring, readRootState } from '../database/load-keyring.ts'
import type { MetaTable } from '../database/meta-table.ts'
import type { RecordQuestion, RecordRows } from '../sources/lookup.ts'
import { type Answer, type Source, SourceError } from '../sources/source.ts'
import { toPictureMark } from './media-link.ts'
import type { Entry } from './record-codec.ts'
import type { RegistryTable } from './registry-table.ts'
import {
  type SealedRecord,
  sealEntry,
  toSubject,
  UnknownKeyVersion,
  unsealEntry,
  unsealMedia,
} from './sealed-entry.ts'

/** The operator's own records, found by number and unsealed. */
export type Registry = {
  readonly find: <K extends Kind>(kind: K, number: string) => Promise<Entry<K> | undefined>
  /** The rows to be read for a number. */
  readonly toQuestion: (kind: Kind, number: string) => RecordQuestion
  /** The same as `find`, from rows that were read before. A promise only when the keys must be reloaded. */
  readonly open: <K extends Kind>(kind: K, number: string, rows: RecordRows) => Opened<K> | Promise<Opened<K>>
  readonly isEmpty: (kind: Kind) => boolean | Promise<boolean>
  /** Undefined also if no record names this picture as its own: only a record is bound to its person. */
  readonly findPicture: (id: Uint8Array) => Promise<Picture | undefined>
  /** Stores the decoys that are unsealed when no record was found. */
  readonly insertDecoys: () => Promise<void>
}

type Opened<K extends Kind> = Entry<K> | undefined

/** A picture and the NIN of its person. */
export type Picture = { readonly bytes: Buffer; readonly nin: string }

type RegistryOptions = {
  readonly table: Pick<RegistryTable, 'find' | 'findMedia' | 'isEmpty' | 'save'>
  readonly keyring: () => Keyring
  /** Reloads the keys after a rotation by another process. */
  readonly reloadKeyring: () => Promise<Keyring>
}

/** The registry. It reloads its keys after a rotation. */
export function openRegistry(
  config: RootKeySettings,
  store: { readonly registry: RegistryTable; readonly meta: MetaTable },
  first: Keyring,
) {
  let keyring = first
  let reloading: Promise<Keyring> | undefined
  const reload = async () => {
    keyring = (await loadKeyring(config, store)).keyring
    return keyring
  }
  const refresh = async () => {
    const { version } = await readRootState(store)
    return version === keyring.version ? keyring : reload()
  }
  let refreshed = { at: Number.NEGATIVE_INFINITY, keyring: Promise.resolve(first) }
  const registry = createRegistry({
    table: store.registry,
    keyring: () => keyring,
    // Shared by all requests that wait for it: it may run a command.
    reloadKeyring: () => {
      reloading ??= reload().finally(() => {
        reloading = undefined
      })
      return reloading
    },
  })
  const refreshKeyring = () => {
    const at = performance.now()
    if (at - refreshed.at >= REFRESH_EVERY_MS) refreshed = { at, keyring: refresh() }
    return refreshed.keyring
  }
  return { registry, currentKeyring: () => keyring, refreshKeyring }
}

/** A link to a picture that was made up causes a refresh. */
const REFRESH_EVERY_MS = 1000

/** An empty registry is not used as a source. Once it has records, that answer is cached for good. */
const EMPTY_FOR_MS = 1000
/** More rotations than can happen while one row is read. */
const MAX_RELOADS = 2

export function createRegistry({ table, keyring, reloadKeyring }: RegistryOptions): Registry {
  const decoys = { nin: createDecoy(keyring(), 'nin'), bvn: createDecoy(keyring(), 'bvn') }

  /**
   * Unseals a row. If its key version is unknown, another process has rotated the root key: reloads the keys and reads the
   * row again. A version that stays unknown means damage.
   */
  const open = async <R, T>(
    row: R,
    readAgain: () => Promise<R | undefined>,
    work: (keys: Keyring, row: R) => T,
    keys = keyring(),
    reloads = 0,
  ): Promise<T | undefined> => {
    try {
      return work(keys, row)
    } catch (error) {
      if (!(error instanceof UnknownKeyVersion)) throw error
      if (reloads === MAX_RELOADS) throw new BrokenSeal({ cause: error })
    }
    const newKeys = await reloadKeyring()
    const fresh = await readAgain()
    return fresh && open(fresh, readAgain, work, newKeys, reloads + 1)
  }

  /** Only people with a NIN have pictures. */
  const readNin = async (subject: Uint8Array, mediaId: string): Promise<string | undefined> => {
    const read = () => table.find(subject)
    const row = await read()
    const entry = row && (await open(row, read, (keys, found) => unsealEntry(keys, 'nin', subject, found)))
    return entry?.mediaId === mediaId ? entry.record.nin_number : undefined
  }

  /** Constant work for known and unknown numbers: two lookups, of which one finds a row, and one unseal. */
  const find = async <K extends Kind>(kind: K, number: string): Promise<Opened<K>> => {
    const subject = toSubject(keyring(), kind, number)
    const row = await table.find(subject)
    const decoy = decoys[kind]
    const other = await table.find(row ? Buffer.from(subject).reverse() : decoy.subject)
    const opened = row ? subject : decoy.subject
    const entry = await open(
      row ?? other ?? decoy,
      () => table.find(opened),
      (keys, found) => unsealEntry(keys, kind, opened, found),
    )
    return row && entry
  }

  return {
    find,
    toQuestion: (kind, number) => ({
      subject: toSubject(keyring(), kind, number),
      decoy: decoys[kind].subject,
    }),
    open: (kind, number, { subject, row, other }) => {
      const opened = row ? subject : decoys[kind].subject
      try {
        const entry = unsealEntry(keyring(), kind, opened, row ?? other ?? decoys[kind])
        return row && entry
      } catch (error) {
        if (error instanceof UnknownKeyVersion) return find(kind, number)
        throw error
      }
    },
    isEmpty: createIsEmpty(table),
    insertDecoys: async () => {
      for (const decoy of Object.values(decoys))
        if (!(await table.find(decoy.subject)))
          await table.save({ records: [decoy], media: [], at: Date.now() })
    },
    findPicture: async (id) => {
      const read = () => table.findMedia(id)
      const row = await read()
      const bytes = row && (await open(row, read, (keys, found) => unsealMedia(keys, id, found)))
      if (!row || !bytes) return undefined
      const nin = await readNin(row.subject, Buffer.from(id).toString('hex'))
      return nin === undefined ? undefined : { bytes, nin }
    },
  }
}

/** Whether there are no records of a kind. Asks the table only until there are some. */
function createIsEmpty(table: Pick<RegistryTable, 'isEmpty'>): Registry['isEmpty'] {
  const filled = new Set<Kind>()
  const emptyUntil = new Map<Kind, number>()
  const ask = async (kind: Kind): Promise<boolean> => {
    const isEmpty = await table.isEmpty(kind)
    if (isEmpty) emptyUntil.set(kind, performance.now() + EMPTY_FOR_MS)
    else filled.add(kind)
    return isEmpty
  }
  return (kind) => !filled.has(kind) && ((emptyUntil.get(kind) ?? 0) > performance.now() || ask(kind))
}

/** A record of usual size that belongs to no person. Its kind cannot be requested. */
const createDecoy = (keys: Keyring, kind: Kind): SealedRecord => ({
  ...sealEntry(keys, kind, 'decoy', {
    record: createBlankRecord(kind, 'text of common length'),
    mediaId: null,
  }),
  kind: 'decoy',
})

/** The registry as a source. An empty registry fails instead of answering "not found". */
export function toRegistrySource({
  find,
  open,
  toQuestion,
  isEmpty,
}: Pick<Registry, 'find' | 'open' | 'toQuestion' | 'isEmpty'>): Source {
  const refuseIf = async (empty: boolean | Promise<boolean>) => {
    if (await empty) throw new SourceError('registry', 'no_records')
  }
  const openUnlessEmpty = <K extends Kind>(kind: K, number: string, rows: RecordRows) => {
    const empty = isEmpty(kind)
    return empty === false ? open(kind, number, rows) : refuseIf(empty).then(() => open(kind, number, rows))
  }
  return {
    name: 'registry',
    findNin: async ({ nin }) => {
      await refuseIf(isEmpty('nin'))
      return toNinAnswer(await find('nin', nin))
    },
    findBvn: async ({ bvn, phone }) => {
      await refuseIf(isEmpty('bvn'))
      return toBvnAnswer(await find('bvn', bvn), phone)
    },
    local: {
      toQuestion,
      findNin: ({ nin }, rows) => {
        const entry = openUnlessEmpty('nin', nin, rows)
        return entry instanceof Promise ? entry.then(toNinAnswer) : toNinAnswer(entry)
      },
      findBvn: ({ bvn, phone }, rows) => {
        const entry = openUnlessEmpty('bvn', bvn, rows)
        return entry instanceof Promise
          ? entry.then((opened) => toBvnAnswer(opened, phone))
          : toBvnAnswer(entry, phone)
      },
    },
  }
}

/** The link to the picture is made for each API key: see media-link.ts. */
function toNinAnswer(entry: Entry<'nin'> | undefined): Answer<NinRecord> {
  if (!entry) return { found: false }
  const { record, mediaId } = entry
  const personal_info = { ...record.personal_info, image_url: toPictureMark(mediaId) }
  return { found: true, record: { ...record, personal_info } }
}

/**
 * A masked second phone may be the requested one, so neither answer is certain. The first phone is never masked: the import
 * refuses that.
 */
function toBvnAnswer(entry: Entry<'bvn'> | undefined, phone: string): Answer<BvnRecord> {
  if (!entry) return { found: false }
  const { phone_number, phone_number_2 } = entry.record.personal_info
  if (phone_number_2?.startsWith('*') && phone_number !== toLocalPhone(phone))
    throw new SourceError('registry', 'bad_response', { problem: 'mixed_phones' })
  return { found: true, record: entry.record }
}
