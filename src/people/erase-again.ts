import type { AuditEntry } from '../audit/row.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { KINDS } from '../crypto/mac.ts'
import type { Database } from '../database/database.ts'
import { isAnything, toErasedEnd, toErasureDetail } from './erase-person.ts'
import { type EarlierErasure, type ErasedAgain, eraseAgainInTx } from './erase-rows.ts'
import { type ErasureTable, listUnnamed } from './erasure-table.ts'
import { type ErasuresFile, parseErasures } from './erasures-file.ts'
import { countMissing } from './keep-erasures-file.ts'
import { createTombstoneReads, type Tombstone } from './tombstone-table.ts'
import { findUnnamed } from './unnamed-answers.ts'

/** Erases the people of these files again, inside the transaction of a restore. */
export async function eraseAgainIn(
  tx: Database,
  keyring: Keyring,
  files: readonly ErasuresFile[],
): Promise<Restored> {
  const list: ErasureTable['listUnnamed'] = (operation, from) => listUnnamed(tx, operation, from)
  const erasures = await toEarlierErasures(list, keyring, parseAll(files, keyring))
  const { missing } = await countMissing(createTombstoneReads(tx), keyring, files)
  return { erasedAgain: await eraseAgainInTx(tx, erasures, steadyNow()), missing }
}

type Restored = {
  readonly erasedAgain: readonly ErasedAgain[]
  /** Erasures of the backup that are not in the files: they were deleted or cut, and may lack later ones as well. */
  readonly missing: number
}

/** The same in a database that is in use, in one transaction. */
export async function eraseAgain(
  table: ErasureTable,
  keyring: Keyring,
  files: readonly ErasuresFile[],
): Promise<ErasedAgain[]> {
  const erasures = await toEarlierErasures(table.listUnnamed, keyring, parseAll(files, keyring))
  return table.eraseAgain(erasures, steadyNow())
}

const parseAll = (files: readonly ErasuresFile[], keyring: Keyring): Tombstone[] => [
  ...new Map(files.flatMap((file) => parseErasures(file, keyring)).map((each) => [each.id, each])).values(),
]

/** With the stored responses that must be decrypted to know whom they are about. */
async function toEarlierErasures(
  list: ErasureTable['listUnnamed'],
  keyring: Keyring,
  erasures: readonly Tombstone[],
): Promise<EarlierErasure[]> {
  const bySubject = new Map(
    erasures.map((erasure) => [Buffer.from(erasure.subject).toString('hex'), erasure]),
  )
  const first = erasures[0]
  const unnamed: {
    readonly of: Tombstone | undefined
    readonly answer: EarlierErasure['unnamed'][number]
  }[] = []
  for (const kind of first ? KINDS : [])
    for (const { subject, ...answer } of await findUnnamed(list, keyring, kind, (each) =>
      bySubject.has(each),
    ))
      unnamed.push({ of: subject === undefined ? first : bySubject.get(subject), answer })
  return erasures.map((erasure) => ({
    ...erasure,
    unnamed: unnamed.flatMap(({ of, answer }) => (of?.id === erasure.id ? [answer] : [])),
  }))
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
