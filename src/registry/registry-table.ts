import type { Kind } from '../crypto/mac.ts'
import type { Database } from '../database/database.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'
import { refuseStaleSeals } from './rotation-table.ts'
import { dropPictures, REFRESH_EVERY_MS, REGISTRY_LOCK, saveRecords } from './save-records.ts'
import type { SealedMedia, SealedRecord } from './sealed-entry.ts'

type RegistryBatch = {
  readonly records: readonly SealedRecord[]
  readonly media: readonly SealedMedia[]
  readonly at: number
  /** As a function, the state can include the number of changed records; a function cannot be sent to the writer thread. */
  readonly progress?: { readonly id: string; readonly state: string | ((changed: number) => string) }
}

/** Few enough that no request waits noticeably. */
const ERASED_PER_STEP = 500

/** The last import may be up to that much later than updated_at. Decoys belong to no person and are not imported. */
const IS_OLD = `updated_at < CAST($1 AS BIGINT) - ${REFRESH_EVERY_MS} AND kind <> 'decoy'`
/** The same ones for both statements. */
const SOME_OLD = `SELECT subject FROM registry WHERE ${IS_OLD} ORDER BY updated_at, subject LIMIT ${ERASED_PER_STEP}`

export const registryTable = defineTable({
  reads: (database) => {
    const find = database.prepare('SELECT key_version, sealed FROM registry WHERE subject = $1')
    const findMedia = database.prepare('SELECT subject, key_version, sealed FROM media WHERE id = $1')
    const any = database.prepare('SELECT 1 AS found FROM registry WHERE kind = $1 LIMIT 1')
    const count = database.prepare(
      'SELECT kind, key_version, COUNT(*) AS records FROM registry GROUP BY kind, key_version ORDER BY kind, key_version',
    )
    const countMedia = database.prepare('SELECT COUNT(*) AS media FROM media')
    // Sorted: else PostgreSQL reads the whole table to find the first ones.
    const countOld = database.prepare(
      `SELECT COUNT(*) AS records FROM (SELECT 1 FROM registry WHERE ${IS_OLD} ORDER BY updated_at LIMIT $2) AS old`,
    )
    const progress = database.prepare('SELECT progress FROM imports WHERE id = $1')
    return {
      find: async (subject: Uint8Array): Promise<Pick<SealedRecord, 'keyVersion' | 'sealed'> | undefined> => {
        const row = await find.get(subject)
        return row && { keyVersion: Number(row.key_version), sealed: row.sealed as Uint8Array }
      },
      findMedia: async (id: Uint8Array): Promise<Omit<SealedMedia, 'id'> | undefined> => {
        const row = await findMedia.get(id)
        if (!row) return undefined
        return {
          subject: row.subject as Uint8Array,
          keyVersion: Number(row.key_version),
          sealed: row.sealed as Uint8Array,
        }
      },
      isEmpty: async (kind: Kind) => (await any.get(kind)) === undefined,
      count: async () =>
        (await count.all()).map((row) => ({
          kind: row.kind as Kind,
          keyVersion: Number(row.key_version),
          records: Number(row.records),
        })),
      countMedia: async () => Number((await countMedia.get())?.media ?? 0),
      /** Records that no import has contained since a time. Counts up to `most` of them. */
      countOld: async (before: number, most: number) =>
        Number((await countOld.get(before, most))?.records ?? 0),
      importProgress: async (id: string) => (await progress.get(id))?.progress as string | undefined,
    }
  },
  writes: (database) => ({
    /** Saves a batch and the progress of the import in one commit. Returns how many records were new or changed. */
    save: (batch: RegistryBatch) => database.transaction((tx) => saveBatch(tx, batch)),
    finishImport: async (id: string) =>
      void (await database.prepare('DELETE FROM imports WHERE id = $1').run(id)),
    /** Erases some of the old records with their pictures. */
    eraseOld: (before: number) => database.transaction((tx) => eraseOld(tx, before)),
  }),
})
export type RegistryTable = TableOf<typeof registryTable>

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

async function eraseOld(tx: Database, before: number) {
  await tx.lock(REGISTRY_LOCK)
  const pictures = await tx.prepare(`DELETE FROM media WHERE subject IN (${SOME_OLD})`).run(before)
  const records = await tx.prepare(`DELETE FROM registry WHERE subject IN (${SOME_OLD})`).run(before)
  return { records, pictures }
}
