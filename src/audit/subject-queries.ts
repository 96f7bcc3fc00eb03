import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Reader } from '../database/define-table.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import { findInPage, toBucket } from './subject-blocks.ts'
import {
  type BlockIndex,
  CONSENT_INDEX,
  type IndexedChain,
  SUBJECT_INDEX,
  toIndexedChain,
  toListChains,
} from './subject-table.ts'

/** The rows that name this text, oldest first. With `most`, at least that many of them, if there are. */
type FindRows = (text: string, most?: number) => Promise<LoggedRow[]>

type SubjectQueries = { readonly bySubject: FindRows; readonly byConsent: FindRows }

export const createSubjectQueries = (database: Reader, columns: string): SubjectQueries => ({
  bySubject: createFindRows(database, columns, SUBJECT_INDEX),
  byConsent: createFindRows(database, columns, CONSENT_INDEX),
})

const PAGES_AT_ONCE = 200
/** Few enough not to delay requests: SQLite answers synchronously. */
const SCANNED_AT_ONCE = 1000

const IN_LIST = {
  sqlite: 'SELECT value FROM json_each($2)',
  postgres: 'SELECT value::bigint FROM jsonb_array_elements_text($2::jsonb)',
} as const

/** Rows that are in blocks are found by them; the others, at the end of each chain, are scanned. */
function createFindRows(database: Reader, columns: string, index: BlockIndex): FindRows {
  const { column } = index
  const chains = database.prepare(toListChains(index))
  const pages = database.prepare(
    `SELECT blocks.first_sequence, entries FROM ${index.blocks} AS blocks
     JOIN ${index.pages} AS pages
       ON pages.chain = blocks.chain AND pages.first_sequence = blocks.first_sequence AND bucket = $4
     WHERE blocks.chain = $1 AND blocks.first_sequence > $2 AND last_sequence <= $3
     ORDER BY blocks.first_sequence LIMIT ${PAGES_AT_ONCE}`,
  )
  const rows = database.prepare(
    `SELECT ${columns} FROM audit WHERE chain = $1 AND sequence IN (${IN_LIST[database.dialect]}) AND ${column} = $3`,
  )
  const scan = database.prepare(
    `SELECT ${columns} FROM audit WHERE chain = $1 AND sequence > $2 AND sequence <= $3 AND ${column} = $4`,
  )

  async function* findInBlocks({ chain, indexed }: IndexedChain, subject: string) {
    const key = index.prefix + subject
    const bucket = toBucket(key)
    for (let after = 0; after < indexed; ) {
      const found = await pages.all(chain, after, indexed, bucket)
      const sequences = found.flatMap(({ first_sequence, entries }) =>
        findInPage(entries as Uint8Array, key, Number(first_sequence)),
      )
      for (let at = 0; at < sequences.length; at += SCANNED_AT_ONCE) {
        const some = sequences.slice(at, at + SCANNED_AT_ONCE)
        yield await rows.all(chain, JSON.stringify(some), subject)
        await nextTurn()
      }
      if (found.length < PAGES_AT_ONCE) return
      after = Number(found.at(-1)?.first_sequence)
      await nextTurn()
    }
  }

  async function* scanTail({ chain, head, indexed }: IndexedChain, subject: string) {
    for (let after = indexed; after < head; after += SCANNED_AT_ONCE) {
      yield await scan.all(chain, after, Math.min(after + SCANNED_AT_ONCE, head), subject)
      await nextTurn()
    }
  }

  return async (text, most = Number.POSITIVE_INFINITY) => {
    const found: LoggedRow[] = []
    for (const chain of (await chains.all()).map(toIndexedChain))
      for (const search of [findInBlocks, scanTail])
        for await (const some of search(chain, text)) {
          found.push(...(some as LoggedRow[]))
          if (found.length >= most) return found.sort(compareTime)
        }
    return found.sort(compareTime)
  }
}

function compareTime(one: LoggedRow, other: LoggedRow): number {
  if (one.time !== other.time) return one.time < other.time ? -1 : 1
  return one.sequence - other.sequence
}
