import type { Database, Row } from '../database/database.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'
import type { SubjectBlock, SubjectOfRow } from './subject-blocks.ts'

/** How far the rows of a chain are in blocks. */
export type IndexedChain = {
  readonly chain: string
  readonly owner: string | null
  readonly beatAt: number
  /** The last row. */
  readonly head: number
  /** The last row that is in a block. */
  readonly indexed: number
}

/** A text column of the audit log whose rows are found by blocks. */
export type BlockIndex = {
  readonly column: 'subject' | 'consent_reference'
  readonly blocks: string
  readonly pages: string
  /** Before each text. A keyed hash has none: its first bytes are its place. Any other text is hashed. */
  readonly prefix: string
}

export const SUBJECT_INDEX: BlockIndex = {
  column: 'subject',
  blocks: 'audit_subject_blocks',
  pages: 'audit_subject_pages',
  prefix: '',
}
export const CONSENT_INDEX: BlockIndex = {
  column: 'consent_reference',
  blocks: 'audit_consent_blocks',
  pages: 'audit_consent_pages',
  prefix: '=',
}

const toLastBlock = ({ blocks }: BlockIndex, chain: string) =>
  `SELECT last_sequence FROM ${blocks} AS blocks WHERE blocks.chain = ${chain} ORDER BY first_sequence DESC LIMIT 1`

export const toListChains = (index: BlockIndex) => `SELECT chain, owner, beat_at,
    (SELECT COALESCE(MAX(sequence), 0) FROM audit WHERE audit.chain = audit_chains.chain) AS head,
    COALESCE((${toLastBlock(index, 'audit_chains.chain')}), 0) AS indexed
  FROM audit_chains WHERE archive IS NULL ORDER BY chain`

/** All pages in one statement: $3 lists the bucket, the start and the length of each in $4. */
const INSERT_PAGES = {
  sqlite: `SELECT $1, $2, value ->> 0, substr($4, value ->> 1, value ->> 2) FROM json_each($3)`,
  postgres: `SELECT $1, $2::bigint, (value ->> 0)::bigint, substr($4::bytea, (value ->> 1)::int, (value ->> 2)::int)
    FROM jsonb_array_elements($3::jsonb)`,
} as const

/** The blocks in which the audit rows of a person, or of a consent, are found; see subject-blocks.ts. */
const defineSubjectTable = (index: BlockIndex) =>
  defineTable({
    reads: (database) => {
      const chains = database.prepare(toListChains(index))
      const lastBlock = database.prepare(toLastBlock(index, '$1'))
      // As one text: reading row by row costs several times as much.
      const subjects = database.prepare(
        `SELECT string_agg(sequence || ' ' || ${index.column}, '\n' ORDER BY sequence) AS list FROM audit
         WHERE chain = $1 AND sequence > $2 AND sequence <= $3 AND ${index.column} IS NOT NULL`,
      )
      return {
        index,
        chains: async () => (await chains.all()).map(toIndexedChain),
        /** The last row of a chain that is in a block; 0 if none is. */
        indexed: async (chain: string) => Number((await lastBlock.get(chain))?.last_sequence ?? 0),
        /** The rows of a range that have a subject. */
        subjects: async (chain: string, after: number, upTo: number) =>
          toSubjects((await subjects.get(chain, after, upTo))?.list, index),
      }
    },
    writes: (database) => ({
      /** False when another process has written this block. */
      insertBlock: (block: SubjectBlock) => database.transaction((tx) => insertBlock(tx, index, block)),
    }),
  })

export const subjectTable = defineSubjectTable(SUBJECT_INDEX)
export const consentTable = defineSubjectTable(CONSENT_INDEX)
export type SubjectTable = TableOf<typeof subjectTable>

async function insertBlock(
  tx: Database,
  index: BlockIndex,
  { chain, first, last, pages }: SubjectBlock,
): Promise<boolean> {
  const isNew = await tx
    .prepare(
      `INSERT INTO ${index.blocks} (chain, first_sequence, last_sequence) VALUES ($1, $2, $3)
       ON CONFLICT (chain, first_sequence) DO NOTHING`,
    )
    .run(chain, first, last)
  if (isNew === 0) return false
  const insertPages = `INSERT INTO ${index.pages} (chain, first_sequence, bucket, entries) ${INSERT_PAGES[tx.dialect]}`
  await tx.prepare(insertPages).run(chain, first, ...joinPages(pages))
  return true
}

function joinPages(pages: SubjectBlock['pages']): [places: string, entries: Uint8Array] {
  let start = 1
  const places = pages.map(([bucket, { length }]) => {
    const place = [bucket, start, length]
    start += length
    return place
  })
  return [JSON.stringify(places), Buffer.concat(pages.map(([, entries]) => entries))]
}

function toSubjects(list: unknown, { prefix }: BlockIndex): SubjectOfRow[] {
  if (typeof list !== 'string') return []
  return list.split('\n').map((line) => {
    const space = line.indexOf(' ')
    return { sequence: Number(line.slice(0, space)), subject: prefix + line.slice(space + 1) }
  })
}

export const toIndexedChain = (row: Row): IndexedChain => ({
  chain: String(row.chain),
  owner: row.owner === null ? null : String(row.owner),
  beatAt: Number(row.beat_at),
  head: Number(row.head),
  indexed: Number(row.indexed),
})
