import type { SubjectBlock } from '../audit/subject-blocks.ts'
import { createSubjectTable, type SubjectTable } from '../audit/subject-table.ts'
import type { Database } from '../database/database.ts'

/** Reads the blocks of subjects, and the rows they were made from. */
export type SubjectScrub = Pick<SubjectTable, 'subjects'> & {
  /** The block after the one with this chain and first row. */
  readonly nextBlock: (chain: string, first: number) => Promise<Omit<SubjectBlock, 'pages'> | undefined>
  /** Whether the rows of a chain may be removed, because they are in an archive. */
  readonly isArchived: (chain: string) => Promise<boolean>
  readonly readPages: (chain: string, first: number) => Promise<SubjectBlock['pages']>
}

export function createSubjectScrub(database: Database): SubjectScrub {
  const next = database.prepare(
    `SELECT chain, first_sequence, last_sequence FROM audit_subject_blocks
     WHERE (chain, first_sequence) > ($1, $2) ORDER BY chain, first_sequence LIMIT 1`,
  )
  const pages = database.prepare(
    'SELECT bucket, entries FROM audit_subject_pages WHERE chain = $1 AND first_sequence = $2',
  )
  const archived = database.prepare(
    'SELECT 1 AS found FROM audit_chains WHERE chain = $1 AND archive IS NOT NULL',
  )
  return {
    isArchived: async (chain) => (await archived.get(chain)) !== undefined,
    subjects: createSubjectTable(database).subjects,
    nextBlock: async (chain, first) => {
      const row = await next.get(chain, first)
      return (
        row && {
          chain: String(row.chain),
          first: Number(row.first_sequence),
          last: Number(row.last_sequence),
        }
      )
    },
    readPages: async (chain, first) =>
      (await pages.all(chain, first)).map(
        // Damage can change the type of a value in SQLite.
        ({ bucket, entries }) =>
          [Number(bucket), entries instanceof Uint8Array ? entries : new Uint8Array()] as const,
      ),
  }
}
