import type { Kind } from '../crypto/mac.ts'
import type { Database } from '../database/database.ts'
import { createOldRecords, type OldRecords } from './expire-records.ts'
import { refuseStaleSeals } from './rotation-table.ts'
import { dropPictures, REGISTRY_LOCK, saveRecords } from './save-records.ts'
import type { SealedMedia, SealedRecord } from './sealed-entry.ts'

export type RegistryTable = OldRecords & {
  readonly find: (subject: Uint8Array) => Promise<Pick<SealedRecord, 'keyVersion' | 'sealed'> | undefined>
  readonly findMedia: (
    id: Uint8Array,
  ) => Promise<Pick<SealedMedia, 'subject' | 'keyVersion' | 'sealed'> | undefined>
  readonly isEmpty: (kind: Kind) => Promise<boolean>
  readonly count: () => Promise<{ kind: Kind; keyVersion: number; records: number }[]>
  readonly countMedia: () => Promise<number>
  /** Saves a batch and the progress of the import in one commit. Returns how many records were new or changed. */
  readonly save: (batch: RegistryBatch) => Promise<number>
  readonly importProgress: (id: string) => Promise<string | undefined>
  readonly finishImport: (id: string) => Promise<void>
}

type RegistryBatch = {
  readonly records: readonly SealedRecord[]
  readonly media: readonly SealedMedia[]
  readonly at: number
  /** As a function, the state can include the number of changed records; a function cannot be sent to the writer thread. */
  readonly progress?: { readonly id: string; readonly state: string | ((changed: number) => string) }
}

export function createRegistryTable(database: Database): RegistryTable {
  const find = database.prepare('SELECT key_version, sealed FROM registry WHERE subject = $1')
  const findMedia = database.prepare('SELECT subject, key_version, sealed FROM media WHERE id = $1')
  const any = database.prepare('SELECT 1 AS found FROM registry WHERE kind = $1 LIMIT 1')
  const count = database.prepare(
    'SELECT kind, key_version, COUNT(*) AS records FROM registry GROUP BY kind, key_version ORDER BY kind, key_version',
  )
  const countMedia = database.prepare('SELECT COUNT(*) AS media FROM media')
  const progress = database.prepare('SELECT progress FROM imports WHERE id = $1')
  const finish = database.prepare('DELETE FROM imports WHERE id = $1')
  return {
    ...createOldRecords(database),
    find: async (subject) => {
      const row = await find.get(subject)
      return row && { keyVersion: Number(row.key_version), sealed: row.sealed as Uint8Array }
    },
    findMedia: async (id) => {
      const row = await findMedia.get(id)
      if (!row) return undefined
      return {
        subject: row.subject as Uint8Array,
        keyVersion: Number(row.key_version),
        sealed: row.sealed as Uint8Array,
      }
    },
    isEmpty: async (kind) => (await any.get(kind)) === undefined,
    count: async () =>
      (await count.all()).map((row) => ({
        kind: row.kind as Kind,
        keyVersion: Number(row.key_version),
        records: Number(row.records),
      })),
    countMedia: async () => Number((await countMedia.get())?.media ?? 0),
    save: (batch) => database.transaction((tx) => saveBatch(tx, batch)),
    importProgress: async (id) => (await progress.get(id))?.progress as string | undefined,
    finishImport: async (id) => {
      await finish.run(id)
    },
  }
}

async function saveBatch(tx: Database, batch: RegistryBatch): Promise<number> {
  const { media, at, progress } = batch
  await refuseStaleSeals(tx, [...batch.records, ...media])
  await tx.lock(REGISTRY_LOCK)
  const records = toLastOfEach(batch.records)
  const pictures = new Map(media.map((picture) => [toKey(picture.subject), picture]))
  const pictureOf = ({ subject }: SealedRecord) => pictures.get(toKey(subject))
  const plain = media.length === 0 ? records : records.filter((record) => !pictureOf(record))
  let changed = await saveRecords(tx, plain, at)
  if (changed > 0) await dropPictures(tx, plain)
  for (const record of media.length === 0 ? [] : records) {
    const picture = pictureOf(record)
    // An unchanged record refers to the picture that was saved with it.
    if (!picture || (await saveRecords(tx, [record], at)) === 0) continue
    await dropPictures(tx, [record])
    await insertPicture(tx, picture)
    changed++
  }
  if (progress)
    await tx
      .prepare(
        `INSERT INTO imports (id, progress, updated_at) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET progress = excluded.progress, updated_at = excluded.updated_at`,
      )
      .run(progress.id, typeof progress.state === 'string' ? progress.state : progress.state(changed), at)
  return changed
}

/**
 * Of several rows of one person, only the last is saved. Sorted, so that neighbours in the index are written together, which
 * saves most page reads.
 */
function toLastOfEach(records: readonly SealedRecord[]): SealedRecord[] {
  const subjects = records.map(({ subject }) => subject)
  // Six bytes are compared as a number; almost never are more needed.
  const starts = Float64Array.from(subjects, toStart)
  const compare = (one: number, other: number) =>
    (starts[one] as number) - (starts[other] as number) ||
    Buffer.compare(subjects[one] as Uint8Array, subjects[other] as Uint8Array) ||
    one - other
  const order = Uint32Array.from(records.keys()).sort(compare)
  const isLast = (index: number, place: number) => {
    const next = order[place + 1]
    if (next === undefined || starts[next] !== starts[index]) return true
    return Buffer.compare(subjects[next] as Uint8Array, subjects[index] as Uint8Array) !== 0
  }
  return Array.from(order.filter(isLast), (index) => records[index] as SealedRecord)
}

function toStart(subject: Uint8Array): number {
  let start = 0
  for (let index = 0; index < 6; index++) start = start * 256 + (subject[index] as number)
  return start
}

const toKey = ({ buffer, byteOffset, length }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, length).toString('latin1')

const insertPicture = (tx: Database, { id, subject, keyVersion, sealed }: SealedMedia) =>
  tx
    .prepare('INSERT INTO media (id, subject, key_version, sealed) VALUES ($1, $2, $3, $4)')
    .run(id, subject, keyVersion, sealed)
