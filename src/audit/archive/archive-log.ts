import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { ARCHIVE_LOCK, withProcessLock } from '../../database/process-lock.ts'
import { UserError } from '../../errors.ts'
import { endOf, monthOf } from '../../ledger/audit-months.ts'
import type { ArchiveTable, RemovalStep } from '../archive-table.ts'
import type { Chain } from '../audit-chains.ts'
import type { AuditLog } from '../audit-log.ts'
import { withAuditSnapshot } from '../audit-snapshot.ts'
import type { AuditStore } from '../audit-store.ts'
import { toPublicKey } from '../open-checkpoint.ts'
import type { Signer } from '../signing.ts'
import { toFaultText } from '../verify/fault.ts'
import {
  type ArchivedChain,
  type ArchiveStatement,
  openStatement,
  type SignedStatement,
} from './archive-format.ts'
import { openArchive } from './read-archive.ts'
import { refuseTemporary } from './refuse-temporary.ts'
import { verifyArchive } from './verify-archive.ts'
import { archiveExistsError, publishFile, Stopped, writeArchive } from './write-archive.ts'

export type ArchiveDeps = {
  readonly store: AuditStore
  readonly signer: Signer
  readonly audit: Pick<AuditLog, 'record' | 'checkpoint'>
  /** Who archives. */
  readonly by: string
  readonly isStopped?: () => boolean
  /** Called after each step, for progress. A test ends the process here. */
  readonly onStep?: (step: ArchiveStep) => void | Promise<void>
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
    refuseTemporary(path)
    if (existsSync(path)) throw archiveExistsError(path)
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
  await onStep?.('proved')
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

/** What can be archived, and what must stay for now, with the reason. */
type ArchiveChoice = {
  readonly chains: readonly ArchivedChain[]
  readonly left: readonly string[]
}

/**
 * Chooses the chains whose rows are all before a time. Chains are archived whole, those of a month together: then PostgreSQL
 * drops the month. A chain that is still in use stays, and so does one that lost rows in a failover or has the statement of such
 * a loss, because a verification needs both.
 */
async function planArchive(store: AuditStore, before: number): Promise<ArchiveChoice> {
  const chains: ArchivedChain[] = []
  const left: string[] = []
  const lossy = await listLossy(store)
  const all = (await store.audit.chains()).filter(({ isArchived }) => !isArchived)
  for (const [name, group] of Map.groupBy(all, ({ chain }) => monthOf(chain) ?? chain)) {
    const ends = await findEnds(store, group)
    if (ends.length === 0 || !(await isBefore(store, ends, before))) continue
    const reason = findReason(group, ends, lossy)
    if (reason === undefined) chains.push(...ends)
    else
      left.push(
        `${monthOf(`${name}-`) ? `The month ${name}` : `Chain ${name}`} stays in the database: ${reason}.`,
      )
  }
  return { chains, left }
}

/** The chains that have rows, each with its last one. */
async function findEnds({ audit }: AuditStore, group: readonly Chain[]): Promise<ArchivedChain[]> {
  const ends: ArchivedChain[] = []
  for (const { chain } of group) {
    const head = await audit.head(chain)
    if (head) ends.push({ chain, sequence: head.sequence, hash: Buffer.from(head.hash).toString('hex') })
  }
  return ends
}

/** By the month in their name. A chain without one is asked for its last row. */
async function isBefore(
  { audit }: AuditStore,
  [end]: readonly ArchivedChain[],
  before: number,
): Promise<boolean> {
  if (!end) return false
  const month = monthOf(end.chain)
  if (month !== undefined) return endOf(month) <= before
  const last = await audit.timeFrom(end.chain, end.sequence)
  return last !== undefined && Date.parse(last.time) < before
}

function findReason(
  group: readonly Chain[],
  ends: readonly ArchivedChain[],
  lossy: ReadonlySet<string>,
): string | undefined {
  const filled = group.filter(({ chain }) => ends.some((end) => end.chain === chain))
  const open = filled.find(({ isRetired }) => !isRetired)
  if (open)
    return `chain ${open.chain} is not closed; a chain is closed by a checkpoint of the server, seven days after it was last used`
  const lost = filled.find(({ chain }) => lossy.has(chain))
  return lost && `chain ${lost.chain} lost rows in a failover, or states such a loss`
}

async function listLossy(store: AuditStore): Promise<ReadonlySet<string>> {
  const losses = [...(await store.losses.list('open')), ...(await store.losses.list('accepted'))]
  const statements = await withAuditSnapshot(store, (scan) => scan.lossStatements())
  return new Set([...losses.map(({ chain }) => chain), ...statements.map(([chain]) => String(chain))])
}

type RemovalOptions = {
  /** Ends it after a step. It is continued the next time. */
  readonly isStopped?: (() => boolean) | undefined
  readonly onStep?: ((step: 'rows' | 'blocks' | 'checkpoints') => void) | undefined
}

/** Between two steps, for the requests that are waiting. */
const PAUSE_MS = 10
const BUSY_PAUSE_MS = 2000
const MAX_BUSY = 15

/** Removes from the database what recorded archives hold, in small steps. What an interrupted run left is removed first. */
async function removeArchived(table: ArchiveTable, options: RemovalOptions): Promise<void> {
  const { isStopped = () => false, onStep = () => {} } = options
  for (const { number } of (await table.list()).filter(({ removedAt }) => removedAt === undefined)) {
    await repeat(() => table.removeRows(number), 'rows', options)
    await repeat(() => table.removeBlocks(number), 'blocks', options)
    let after: string | undefined = ''
    while (after !== undefined && !isStopped()) {
      after = await table.removeCheckpoints(number, after)
      onStep('checkpoints')
      await pause(PAUSE_MS)
    }
    if (isStopped()) return
    await table.finish(number, Date.now())
  }
}

async function repeat(
  remove: () => Promise<RemovalStep>,
  name: 'rows' | 'blocks',
  { isStopped = () => false, onStep = () => {} }: RemovalOptions,
): Promise<void> {
  let busy = 0
  while (!isStopped()) {
    const step = await remove()
    onStep(name)
    if (step === 'done') return
    if (step === 'busy' && ++busy === MAX_BUSY) throw new UserError(BUSY)
    await pause(step === 'busy' ? BUSY_PAUSE_MS : PAUSE_MS)
  }
}

const BUSY =
  'The archive is complete and recorded, but its rows are still in the database: another transaction reads the audit log. Run the command again when it has ended.'
