import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UserError } from '../../errors.ts'
import type { LoggedRow } from '../../ledger/audit-row.ts'
import { withAuditSnapshot } from '../audit-snapshot.ts'
import type { AuditStore } from '../audit-store.ts'
import type { AuditTable, Checkpoint } from '../audit-table.ts'
import type { CheckpointBody } from '../checkpoint.ts'
import type { Signer } from '../signing.ts'
import { BLOCK_ROWS } from '../subject-blocks.ts'
import {
  ARCHIVE_COLUMNS,
  ARCHIVE_KIND,
  ARCHIVE_VERSION,
  type ArchivedChain,
  type ArchiveStatement,
  type BlockHeader,
  type BlockPlace,
  type Place,
  type SignedStatement,
  signStatement,
  toFrame,
  toIndex,
  toPlacesFrame,
  toRowLine,
  toSkippableFrame,
} from './archive-format.ts'

/** What is put into an archive. */
type ArchivePlan = Pick<ArchiveStatement, 'number' | 'previous' | 'before' | 'by'> & {
  readonly chains: readonly ArchivedChain[]
}

type WriteDeps = {
  readonly store: AuditStore
  readonly signer: Signer
  readonly onProgress?: ((rows: number, total: number) => void) | undefined
  /** Ends it: `Stopped` is thrown. */
  readonly isStopped?: (() => boolean) | undefined
  /** Rows of a frame. */
  readonly blockRows?: number
}

const ROWS_AT_ONCE = 250

/** The process is to stop. Nothing was removed. */
export class Stopped extends Error {
  constructor() {
    super('the archive was not finished, because the process stops')
    this.name = 'Stopped'
  }
}

/** Writes the rows, policies and checkpoints of whole chains to a new file, on disk when it resolves. Removes nothing. */
export async function writeArchive(
  path: string,
  plan: ArchivePlan,
  deps: WriteDeps,
): Promise<SignedStatement> {
  const file = await createArchiveFile(path)
  try {
    const statement = await writeContent(file, plan, deps)
    await file.finish()
    return statement
  } catch (error) {
    await file.remove()
    throw error
  }
}

async function writeContent(file: ArchiveFile, plan: ArchivePlan, deps: WriteDeps): Promise<SignedStatement> {
  const { chains, ...about } = plan
  const time = new Date().toISOString()
  const header = {
    kind: ARCHIVE_KIND,
    version: ARCHIVE_VERSION,
    number: plan.number,
    time,
    columns: ARCHIVE_COLUMNS,
  }
  await file.append(await toFrame([JSON.stringify(header)]))
  const policies = await writePolicies(file, deps)
  const checkpoints = await writeCheckpoints(file, chains, deps)
  const total = chains.reduce((sum, { sequence }) => sum + sequence, 0)
  const blocks: BlockPlace[] = []
  for (const { chain, sequence } of chains) {
    const size = deps.blockRows ?? BLOCK_ROWS
    for (let after = 0; after < sequence; after += size) {
      if (deps.isStopped?.()) throw new Stopped()
      const last = Math.min(after + size, sequence)
      blocks.push(await writeBlock(file, await readRows(deps.store.audit, chain, after, last)))
      deps.onProgress?.(
        blocks.reduce((sum, block) => sum + block.last - block.first + 1, 0),
        total,
      )
    }
  }
  const directory = { policies, checkpoints: checkpoints.places, blocks }
  const directoryPlace = await file.append(await toFrame([JSON.stringify(directory)]))
  const { count, until } = checkpoints
  const size = {
    rows: total,
    checkpoints: count,
    checkpoints_until: until,
    bytes: file.size(),
    digest: file.digest(),
  }
  const signed = signStatement({ ...about, time, ...size, chains }, deps.signer)
  const statementPlace = await file.append(await toFrame([JSON.stringify(signed)]))
  await file.append(toPlacesFrame(directoryPlace, statementPlace))
  return signed
}

/** All of them: there are few. */
const writePolicies = (file: ArchiveFile, { store }: WriteDeps): Promise<Place> =>
  withAuditSnapshot(store, async (scan) => {
    const lines = (await scan.policies()).map(([id, fields]) => JSON.stringify({ id, fields }))
    return file.append(await toFrame(lines))
  })

/** All checkpoints that name one of the chains. */
function writeCheckpoints(file: ArchiveFile, chains: readonly ArchivedChain[], { store }: WriteDeps) {
  const names = new Set(chains.map(({ chain }) => chain))
  return withAuditSnapshot(store, async (scan) => {
    const places: Place[] = []
    let count = 0
    let until = ''
    for await (const page of scan.checkpoints()) {
      const some = page.filter((checkpoint) => listChains(checkpoint).some((chain) => names.has(chain)))
      if (some.length === 0) continue
      places.push(await file.append(await toFrame(some.map((checkpoint) => JSON.stringify(checkpoint)))))
      count += some.length
      until = some.at(-1)?.time ?? until
    }
    return { places, count, until }
  })
}

const listChains = ({ body }: Pick<Checkpoint, 'body'>): string[] =>
  (JSON.parse(body) as CheckpointBody).heads.map(({ chain }) => chain)

async function readRows(table: AuditTable, chain: string, after: number, upTo: number): Promise<LoggedRow[]> {
  const rows: LoggedRow[] = []
  for (let at = after; at < upTo; at += ROWS_AT_ONCE) {
    rows.push(...(await table.page(chain, at, Math.min(ROWS_AT_ONCE, upTo - at))))
    // SQLite answers synchronously: let other work run between two pages.
    await nextTurn()
  }
  return rows
}

async function writeBlock(file: ArchiveFile, rows: readonly LoggedRow[]): Promise<BlockPlace> {
  const [begin, end] = [rows[0], rows.at(-1)]
  if (!begin || !end) throw new Error('a block of an archive has no rows')
  const block = { chain: begin.chain, first: begin.sequence, last: end.sequence }
  const header: BlockHeader = { ...block, previous_hash: toHex(begin.previous_hash), hash: toHex(end.hash) }
  const place = await file.append(await toFrame([JSON.stringify(header), ...rows.map(toRowLine)]))
  const index = (column: 'subject' | 'request_reference') => {
    const listed = rows.flatMap((row) => {
      const text = row[column]
      return text === null ? [] : [{ sequence: row.sequence, subject: text }]
    })
    return file.append(toSkippableFrame(toIndex(listed, begin.sequence)))
  }
  const subjects = await index('subject')
  return { ...place, ...block, subjects, references: await index('request_reference') }
}

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** A file that is written from its beginning to its end. */
type ArchiveFile = {
  readonly append: (bytes: Uint8Array) => Promise<Place>
  /** The size so far. */
  readonly size: () => number
  /** The SHA-256 of everything so far, in hex. */
  readonly digest: () => string
  /** Resolves when it is on disk. */
  readonly finish: () => Promise<void>
  /** Closes the file and deletes it. */
  readonly remove: () => Promise<void>
}

/** An interrupted run may have left this file: it is overwritten. */
async function createArchiveFile(path: string): Promise<ArchiveFile> {
  const file = await open(path, 'w', 0o600).catch((error) => {
    throw archiveWriteError(path, error)
  })
  const hash = createHash('sha256')
  let size = 0
  return {
    append: async (bytes) => {
      const place = { at: size, length: bytes.length }
      await file.writeFile(bytes).catch((error) => {
        throw archiveWriteError(path, error)
      })
      hash.update(bytes)
      size += bytes.length
      return place
    },
    size: () => size,
    digest: () => hash.copy().digest('hex'),
    finish: async () => {
      try {
        await file.sync()
      } catch (error) {
        throw archiveWriteError(path, error)
      } finally {
        await file.close()
      }
    },
    remove: async () => {
      await file.close().catch(() => {})
      await rm(path, { force: true })
    },
  }
}

/** Gives the file its name, which no other file may have. Durable when it resolves. */
export async function publishFile(draft: string, path: string): Promise<void> {
  await link(draft, path).then(
    () => rm(draft),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST' || existsSync(path)) throw archiveExistsError(path)
      // Some file systems have no links.
      return rename(draft, path).catch((failure) => {
        throw archiveWriteError(path, failure)
      })
    },
  )
  // Windows cannot open folders.
  const folder = await open(dirname(path)).catch(() => undefined)
  await folder?.sync().finally(() => folder.close())
}

export const archiveExistsError = (path: string) =>
  new UserError(`${path} exists already. Give another name: an archive is never overwritten.`)

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'the folder does not exist',
  EROFS: 'the file system is read-only',
}

function archiveWriteError(path: string, error: unknown): UserError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
  return new UserError(`${path} cannot be written: ${REASONS[code] ?? code}. No audit row was removed.`)
}
