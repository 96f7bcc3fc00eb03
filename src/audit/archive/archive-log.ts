import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { ARCHIVE_LOCK, withProcessLock } from '../../database/process-lock.ts'
import { UserError } from '../../errors.ts'
import type { AuditLog } from '../audit-log.ts'
import type { AuditStore } from '../audit-store.ts'
import { toFaultText } from '../fault-text.ts'
import { toPublicKey } from '../open-checkpoint.ts'
import type { Signer } from '../signing.ts'
import { publishFile, toExists } from './archive-file.ts'
import { type ArchiveStatement, openStatement, type SignedStatement } from './archive-statement.ts'
import { type ArchiveChoice, planArchive } from './plan-archive.ts'
import { openArchive } from './read-archive.ts'
import { removeArchived } from './remove-archived.ts'
import { verifyArchive } from './verify-archive.ts'
import { Stopped, writeArchive } from './write-archive.ts'

export type ArchiveDeps = {
  readonly store: AuditStore
  readonly signer: Signer
  readonly audit: Pick<AuditLog, 'record' | 'checkpoint'>
  /** Who archives. */
  readonly by: string
  readonly isStopped?: () => boolean
  /** Called after each step, for progress. A test ends the process here. */
  readonly onStep?: (step: ArchiveStep) => void
  readonly onProgress?: (rows: number, total: number) => void
}

type ArchiveStep =
  | 'planned'
  | 'written'
  | 'proved'
  | 'published'
  | 'stated'
  | 'recorded'
  | 'rows'
  | 'blocks'
  | 'checkpoints'
  | 'removed'

/** The statement of the new archive; undefined if there was nothing to archive. */
type ArchiveResult = {
  readonly archived: ArchiveStatement | undefined
  readonly left: readonly string[]
}

/**
 * Moves all rows before a time from the database to a file. The file is complete, on disk and read again before the first row is
 * removed, so that a crash leaves every row in the database, or in the file, or in both. Run again, it continues.
 */
export function archiveLog(before: number, path: string, deps: ArchiveDeps): Promise<ArchiveResult> {
  return withProcessLock(deps.store, ARCHIVE_LOCK, async () => {
    const { store, isStopped, onStep } = deps
    // What an interrupted run left.
    await removeArchived(store.archives, { isStopped, onStep })
    // Closes the chains that are no longer in use.
    await deps.audit.checkpoint()
    const { chains, left } = await planArchive(store, before)
    onStep?.('planned')
    if (chains.length === 0) return { archived: undefined, left }
    if (existsSync(path)) throw toExists(path)
    const signed = await writeProved(path, { chains, left }, before, deps)
    const archived = await recordArchive(signed, deps)
    await removeArchived(store.archives, { isStopped, onStep })
    onStep?.('removed')
    return { archived, left }
  })
}

async function writeProved(
  path: string,
  { chains }: ArchiveChoice,
  before: number,
  { store, signer, by, isStopped, onStep, onProgress }: ArchiveDeps,
): Promise<SignedStatement> {
  const last = (await store.archives.list()).at(-1)
  const plan = {
    number: (last?.number ?? 0) + 1,
    previous: last ? readDigest(last.statement) : null,
    before: new Date(before).toISOString(),
    by,
    chains,
  }
  const draft = `${path}.part`
  const signed = await writeArchive(draft, plan, { store, signer, isStopped, onProgress })
  onStep?.('written')
  await prove(draft, signed, signer, isStopped).catch(async (error) => {
    await rm(draft, { force: true })
    throw error
  })
  onStep?.('proved')
  await publishFile(draft, path)
  onStep?.('published')
  return signed
}

/** Reads the whole file again, as the verifier does. */
async function prove(
  draft: string,
  signed: SignedStatement,
  signer: Signer,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const file = await openArchive(draft)
  try {
    const publicKey = toPublicKey(signer.publicKey, 'The key')
    const onRows = () => {
      if (isStopped()) throw new Stopped()
    }
    const result = await verifyArchive(file, { publicKey, onRows })
    if ('reason' in result)
      throw new UserError(
        `The archive does not pass its check: ${toFaultText(result)}. No audit row was removed. Run: tabbat audit verify`,
      )
    if (file.signed.statement !== signed.statement)
      throw new UserError(`${draft} is not the file that was written. No audit row was removed.`)
  } finally {
    await file.close()
  }
}

/** First in the log, as every change. The rows are signed before any is removed. */
async function recordArchive(signed: SignedStatement, deps: ArchiveDeps): Promise<ArchiveStatement> {
  const statement = openStatement(signed, toPublicKey(deps.signer.publicKey, 'The key'))
  if (!statement) throw new Error('the statement of an archive cannot be read')
  const detail = `${signed.statement} ${signed.signature}`
  await deps.audit.record([{ phase: 'log_archived', outcome: 'ok', detail }])
  await deps.audit.checkpoint()
  deps.onStep?.('stated')
  const { number, chains, checkpoints_until: checkpointsUntil } = statement
  await deps.store.archives.record({ number, ...signed, checkpointsUntil, recordedAt: Date.now(), chains })
  deps.onStep?.('recorded')
  return statement
}

const readDigest = (statement: string) => (JSON.parse(statement) as ArchiveStatement).digest
