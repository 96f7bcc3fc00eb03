import { setImmediate as nextTurn } from 'node:timers/promises'
import { recordBefore } from '../audit/record-before.ts'
import type { AuditEntry } from '../audit/row.ts'
import type { CheckpointFolders } from '../audit/settings.ts'
import { isVirtualNin } from '../contract/person.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { KINDS, type Kind, toBlindIndex, toBlindIndexText } from '../crypto/mac.ts'
import type { Database } from '../database/database.ts'
import { MAX_CLOCK_SKEW_MS } from '../database/database-clock.ts'
import { emptyWal } from '../database/empty-wal.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import type { EndedQueued } from '../ledger/queue-counts.ts'
import { openStoredResponse } from '../verification/idempotency.ts'
import { createReference } from '../verification/verification-request.ts'
import {
  type EarlierErasure,
  type Erased,
  type ErasedAgain,
  eraseAgainInTx,
  type NamedAnswer,
  type UnnamedAnswer,
} from './erase-rows.ts'
import { type ErasureTable, listNamed, listUnnamed } from './erasure-table.ts'
import {
  addErasure,
  countMissing,
  type ErasuresFile,
  parseErasures,
  toErasureFolder,
} from './erasures-file.ts'
import { readAllParts, toRecentExpiry } from './kept-answers.ts'
import { createTombstoneReads, type Tombstone } from './tombstone-table.ts'

type EraseDeps = {
  readonly store: Pick<OpenDatabase, 'database' | 'file'> & { readonly erasure: ErasureTable }
  readonly keyring: Keyring
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  readonly config: CheckpointFolders
}

export type Erasure = Erased & {
  /** Why the erasure could not be added to the file of erasures. */
  readonly fileProblem: string | undefined
  /** What of the erased rows is still on the disk, and why. */
  readonly walProblem: Remaining | undefined
}

/**
 * Deletes everything that is stored about one number: the record, the picture, responses under Idempotency-Keys, results for
 * reuse, and questions and answers in the queue. The audit row comes first, and contains no number; a second one says if the
 * erasure failed. The guess limit and the
 * audit log stay: they hold keyed hashes only, and deleting them would reset the limits. A tombstone is left, in the database
 * and in a file beside the checkpoints, by which a restore erases the person again.
 */
export async function erasePerson(
  deps: EraseDeps,
  kind: Kind,
  number: string,
  reason?: string,
): Promise<Erasure> {
  const { store, keyring, audit } = deps
  const hashes = toErasureHashes(keyring, kind, number)
  const subjectHash = Buffer.from(hashes.subject).toString('hex')
  const recentFrom = toRecentExpiry(MAX_CLOCK_SKEW_MS)
  const { erasure } = store
  const unnamed = await findUnnamed(erasure.listUnnamed, keyring, kind, (subject) => subject === subjectHash)
  const named: NamedAnswer[] = []
  await readAllParts(
    (from) => erasure.listNamed(hashes.subject, from),
    (answers) => void named.push(...answers),
  )
  const subject = { ...hashes, id: createErasureId(), unnamed, named, recentFrom }
  const found = await store.erasure.count(subject)
  const outcome = isAnything(found) ? 'erased' : 'not_found'
  const detail = toErasureDetail(hashes.kind, found, reason)
  const entry = { phase: 'record_erased', subject: subjectHash, outcome, detail }
  const { ended, erasedAt, ...erased } = await recordBefore(audit, entry, () =>
    store.erasure.erase(subject, steadyNow()),
  )
  if (ended.length > 0) await audit.record(ended.map((each) => toErasedEnd(each, subjectHash)))
  const late = await store.erasure.eraseKept(subject.subject, recentFrom)
  const folder = toErasureFolder(deps.config)
  const fileProblem = await addErasure(store.erasure, keyring, folder, { ...subject, erasedAt })
    .then(() => undefined)
    .catch((error: NodeJS.ErrnoException) => error.code ?? 'unknown error')
  const walProblem = (await emptyWal(store)) ? undefined : IN_WAL
  return { ...erased, keptAnswers: erased.keptAnswers + late, fileProblem, walProblem }
}

const toErasureHashes = (keyring: Keyring, kind: Kind, number: string) =>
  ({
    kind: isVirtualNin(number) ? 'vnin' : kind,
    record: toBlindIndex(keyring['blind-index'], kind, number),
    reusedResult: toBlindIndex(keyring['reuse-index'], kind, number),
    subject: toBlindIndex(keyring.subject, kind, number),
  }) satisfies Omit<Tombstone, 'id' | 'erasedAt'>

/** A verification that was waiting ends here. */
const toErasedEnd = ({ reference, keyId, mode, operation }: EndedQueued, subject: string): AuditEntry => ({
  phase: 'outcome',
  request_reference: reference,
  key_id: keyId,
  mode,
  operation,
  subject,
  outcome: 'cancelled',
  detail: 'erased',
})

export const isAnything = (erased: Erased) =>
  erased.records +
    erased.pictures +
    erased.keptAnswers +
    erased.reusedResults +
    erased.queued +
    erased.batchLabels >
  0

/** For the operator: "1 record, 2 kept answers". */
export function listErased(erased: Erased): string {
  const named: readonly (readonly [number, string])[] = [
    [erased.records, 'record'],
    [erased.pictures, 'picture'],
    [erased.keptAnswers, 'kept answer'],
    [erased.reusedResults, 'reused result'],
    [erased.queued, 'queued verification'],
    [erased.batchLabels, 'word of a caller in a batch'],
  ]
  return named
    .flatMap(([rows, name]) => (rows > 0 ? [`${rows} ${rows > 1 ? toPlural(name) : name}`] : []))
    .join(', ')
}

const toPlural = (name: string) => name.replace(/^\w+(?= of)|\w+$/, '$&s')

function toErasureDetail(kind: string, found: Erased, reason: string | undefined): string {
  const what = isAnything(found) ? `${kind}: ${listErased(found)}` : kind
  return reason === undefined ? what : `${what}; reason: ${reason}`
}

/** Like a reference: it sorts by time, and cannot be guessed. */
const createErasureId = () => createReference().replace('ver_', 'era_')

type ListUnnamed = ErasureTable['listUnnamed']

/** Answers that are decrypted before other work has a turn. */
const ANSWERS_PER_TURN = 20

type FoundAnswer = UnnamedAnswer & { readonly subject: string | undefined }

/**
 * Stored responses about virtual NINs whose source returned no NIN have no subject. They live for 24 hours,
 * and are decrypted to find it. `isWanted` takes the keyed hash of the number in the response, in hex. A response that cannot be
 * decrypted cannot be replayed either, and may be about anyone: it counts as wanted. There may be many: requests are answered
 * meanwhile.
 */
export async function findUnnamed(
  list: ListUnnamed,
  keyring: Keyring,
  kind: Kind,
  isWanted: (subject: string) => boolean,
): Promise<FoundAnswer[]> {
  const found: FoundAnswer[] = []
  const operation = `verify_${kind}`
  for (let from: number | undefined = 0; from !== undefined; ) {
    const part: Awaited<ReturnType<ListUnnamed>> = await list(operation, from)
    for (const [index, { keyId, name, sealed }] of part.answers.entries()) {
      if (index % ANSWERS_PER_TURN === ANSWERS_PER_TURN - 1) await nextTurn()
      const subject = readSubject(keyring, kind, name, sealed)
      if (subject === 'none' || (subject !== undefined && !isWanted(subject))) continue
      found.push({ operation, keyId, name, subject })
    }
    await nextTurn()
    from = part.next
  }
  return found
}

/** `none`: the response is about no person. Undefined: it cannot be decrypted. */
function readSubject(
  keyring: Keyring,
  kind: Kind,
  name: Uint8Array,
  sealed: Uint8Array,
): string | 'none' | undefined {
  try {
    const { body, outcome } = openStoredResponse(keyring, name, sealed)
    if (outcome !== 'verified') return 'none'
    return toBlindIndexText(keyring.subject, kind, String(JSON.parse(body).data[`${kind}_number`]))
  } catch {
    return undefined
  }
}

/**
 * Erases the people of these files again, inside the transaction of a restore. `missing`: erasures of the backup that are not in
 * the files, which were deleted or cut and may lack later ones as well.
 */
export async function eraseAgainIn(
  tx: Database,
  keyring: Keyring,
  files: readonly ErasuresFile[],
): Promise<{ readonly erasedAgain: readonly ErasedAgain[]; readonly missing: number }> {
  const lists: Lists = {
    listUnnamed: (operation, from) => listUnnamed(tx, operation, from),
    listNamed: (subject, from) => listNamed(tx, subject, from),
  }
  const erasures = await toEarlierErasures(lists, keyring, parseAll(files, keyring))
  const { missing } = await countMissing(createTombstoneReads(tx), keyring, files)
  return { erasedAgain: await eraseAgainInTx(tx, erasures, steadyNow(), 'none'), missing }
}

/** People of one transaction: each is a lock, and PostgreSQL has a few thousand for all of its connections. */
const PEOPLE_AT_ONCE = 200

/** The same in a database that is in use, in portions. What is known by then is left out, so it can be run again after a failure. */
export async function eraseAgain(
  {
    store,
    keyring,
    audit,
  }: Pick<EraseDeps, 'keyring' | 'audit'> & {
    readonly store: Pick<EraseDeps['store'], 'erasure'>
  },
  files: readonly ErasuresFile[],
): Promise<ErasedAgain[]> {
  const table = store.erasure
  const erasures = await toEarlierErasures(table, keyring, parseAll(files, keyring))
  const all: ErasedAgain[] = []
  for (let from = 0; from < erasures.length; from += PEOPLE_AT_ONCE) {
    const again = await table.eraseAgain(erasures.slice(from, from + PEOPLE_AT_ONCE), steadyNow())
    if (again.length > 0) await audit.record(toAgainEntries(again, 'again from a file'))
    all.push(...again)
  }
  return all
}

const parseAll = (files: readonly ErasuresFile[], keyring: Keyring): Tombstone[] => [
  ...new Map(files.flatMap((file) => parseErasures(file, keyring)).map((each) => [each.id, each])).values(),
]

type Lists = Pick<ErasureTable, 'listUnnamed' | 'listNamed'>

/** With the stored responses about them. All are read once, and some must be decrypted to know whom they are about. */
async function toEarlierErasures(
  lists: Lists,
  keyring: Keyring,
  erasures: readonly Tombstone[],
): Promise<EarlierErasure[]> {
  const bySubject = new Map(
    erasures.map((erasure) => [Buffer.from(erasure.subject).toString('hex'), erasure]),
  )
  const first = erasures[0]
  const recentFrom = toRecentExpiry(MAX_CLOCK_SKEW_MS)
  const unnamed: {
    readonly of: Tombstone | undefined
    readonly answer: EarlierErasure['unnamed'][number]
  }[] = []
  for (const kind of first ? KINDS : [])
    for (const { subject, ...answer } of await findUnnamed(lists.listUnnamed, keyring, kind, (each) =>
      bySubject.has(each),
    ))
      unnamed.push({ of: subject === undefined ? first : bySubject.get(subject), answer })
  const named = first ? await findNamed(lists, bySubject) : new Map<string, NamedAnswer[]>()
  return erasures.map((erasure) => ({
    ...erasure,
    recentFrom,
    named: named.get(Buffer.from(erasure.subject).toString('hex')) ?? [],
    unnamed: unnamed.flatMap(({ of, answer }) => (of?.id === erasure.id ? [answer] : [])),
  }))
}

/** By subject. */
async function findNamed(
  lists: Lists,
  wanted: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, NamedAnswer[]>> {
  const found: NamedAnswer[] = []
  await readAllParts(
    (from) => lists.listNamed(undefined, from),
    (answers) => void found.push(...answers.filter(({ subject }) => wanted.has(subject))),
  )
  return Map.groupBy(found, ({ subject }) => subject)
}

/** The audit rows of erasures that were applied again. */
export const toAgainEntries = (erasures: readonly ErasedAgain[], why: string): AuditEntry[] =>
  erasures.flatMap(({ erasure, ended, ...erased }) => {
    const subject = Buffer.from(erasure.subject).toString('hex')
    return [
      {
        phase: 'record_erased',
        subject,
        outcome: isAnything(erased) ? 'erased' : 'not_found',
        detail: `${toErasureDetail(erasure.kind, erased, undefined)}; ${why}, first erased ${new Date(erasure.erasedAt).toISOString()}`,
      },
      ...ended.map((each) => toErasedEnd(each, subject)),
    ]
  })

type Remaining = { readonly what: string; readonly why: string }

/** What an erasure by this number leaves, and why: for the operator, who tells the person. */
export const listRemains = (number: string, { walProblem }: Pick<Erasure, 'walProblem'>): Remaining[] => [
  ...(walProblem ? [walProblem] : []),
  ...(isVirtualNin(number) ? [BEHIND_VIRTUAL_NIN] : []),
  ...REMAINS,
]

/** Until the log is written over, or all processes have ended. */
export const IN_WAL: Remaining = {
  what: 'the erased bytes in tabbat.db-wal, the write-ahead log of SQLite',
  why: 'Another process, such as a backup, was reading the database. Erase once more when it has ended, or restart the server.',
}

const BEHIND_VIRTUAL_NIN: Remaining = {
  what: 'what is stored under the NIN behind this virtual NIN: the record, and answers in which a vendor returned the NIN',
  why: 'A virtual NIN does not tell its NIN without a call to a vendor; erase by the NIN as well.',
}

const REMAINS: readonly Remaining[] = [
  {
    what: 'what is stored under another number of the person: a NIN, a BVN or a virtual NIN',
    why: 'Nothing tells that the numbers belong together, also if a BVN record contains the NIN; erase by each number.',
  },
  {
    what: 'the rows of the audit log and of its archives, with a keyed hash in place of the number',
    why: 'The law demands a record of who asked and when; without the root key the hash names no person.',
  },
  {
    what: 'counters of failed matches and of people per day, under a keyed hash, for up to two days',
    why: 'Without them an erasure would reset the limits on guessing.',
  },
  {
    what: 'a tombstone: keyed hashes of the number and the time',
    why: 'A restore of an older backup erases the person again by it.',
  },
  {
    what: 'backups that were made before',
    why: 'They are not changed; delete them when their time is over.',
  },
]
