import { createHmac, type KeyObject } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import type { RootKeys } from '../crypto/root-key.ts'
import type { Row } from '../database/database.ts'
import { SCHEMA_VERSION } from '../database/migrate.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import { DATA_TABLES } from './data-tables.ts'
import {
  type Counts,
  encodeRow,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  toBackupKey,
  toMacText,
} from './format.ts'
import { type Snapshot, withSnapshot } from './snapshot.ts'
import { writeAtomically } from './write-atomically.ts'

type BackupOptions = {
  /** Replaces an existing file. */
  readonly force?: boolean
  readonly onProgress?: (done: number, total: number) => void
}

export type Backup = { readonly header: Header; readonly counts: Counts }

/** Sealed rows look random: searching for repetitions finds none, and takes longer than all the rest. */
const GZIP = { strategy: constants.Z_HUFFMAN_ONLY }

/** Writes a consistent snapshot of all tables while servers run. The root key is not part of it, and authenticates it. */
export function writeBackup(
  {
    store,
    rootKeys,
  }: { readonly store: Pick<OpenDatabase, 'database' | 'file' | 'place'>; readonly rootKeys: RootKeys },
  file: string,
  { force = false, onProgress = () => {} }: BackupOptions = {},
): Promise<Backup> {
  return writeAtomically(file, force, (partial) =>
    withSnapshot(store, async (snapshot) => {
      const header = await createHeader(snapshot, store.place)
      if (!rootKeys.candidates.some(({ fingerprint }) => fingerprint === header.root_fingerprint))
        throw new UserError('A rotation of the root key began meanwhile. Run this again.')
      const counts: Counts = {}
      const key = toBackupKey(rootKeys, header)
      const lines = withEnd(toLines(snapshot, header, counts, onProgress), key, counts)
      await pipeline(
        Readable.from(lines, { objectMode: false }),
        createGzip(GZIP),
        createWriteStream(partial, { flush: true }),
      )
      return { header, counts }
    }),
  )
}

async function createHeader({ rows }: Snapshot, place: string): Promise<Header> {
  let fingerprint: unknown
  for await (const page of rows('meta'))
    fingerprint ??= page.find(({ name }) => name === 'root_fingerprint')?.value
  if (typeof fingerprint !== 'string')
    throw new UserError(
      `There is nothing to back up at ${place}. Check TABBAT_DATA_DIR or TABBAT_DATABASE_URL.`,
    )
  return {
    format: FORMAT,
    version: FORMAT_VERSION,
    schema: SCHEMA_VERSION,
    root_fingerprint: fingerprint,
    created_at: new Date().toISOString(),
  }
}

/** Text of whole lines, some rows at a time. Counts the rows of each table as it goes. */
async function* toLines(
  snapshot: Snapshot,
  header: Header,
  counts: Counts,
  onProgress: (done: number, total: number) => void,
): AsyncIterable<string> {
  const sizes = await Promise.all(DATA_TABLES.map((table) => snapshot.count(table)))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let done = 0
  yield `${JSON.stringify(header)}\n`
  for (const table of DATA_TABLES) {
    let columns: string[] | undefined
    counts[table] = 0
    for await (const page of snapshot.rows(table)) {
      if (!columns) {
        columns = Object.keys(page[0] ?? {})
        yield `${JSON.stringify({ table, columns })}\n`
      }
      yield toText(columns, page)
      counts[table] += page.length
      done += page.length
      onProgress(done, total)
    }
  }
}

const toText = (columns: readonly string[], page: readonly Row[]) =>
  page.map((row) => `${encodeRow(columns, row)}\n`).join('')

async function* withEnd(lines: AsyncIterable<string>, key: KeyObject, counts: Counts): AsyncIterable<string> {
  const mac = createHmac('sha256', key)
  for await (const text of lines) {
    mac.update(text)
    yield text
  }
  const end = JSON.stringify({ end: true, counts }).slice(0, -1)
  yield `${end}${toMacText(mac.update(end).digest('hex'))}\n`
}
