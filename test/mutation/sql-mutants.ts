import { type Change, SQL_WORDS } from './operators.ts'

/**
 * Functions of PostgreSQL that hold rules of the ledger, and the file that calls them: what tests run it, run them. Those that only nodes of
 * an earlier release call are left out.
 */
export const CALLERS: Readonly<Record<string, string>> = {
  'src/database/functions/commit-verifications.sql': 'src/ledger/postgres-append.ts',
  'src/database/functions/require-audit-row.sql': 'src/ledger/postgres-append.ts',
}

const IF = /(?<=\b(?:ELS)?IF )[^;]*?(?= THEN\b)/g
const CHANGES: readonly (readonly [RegExp, string])[] = [
  ...SQL_WORDS,
  [/(?<=\bIF \w+ )=(?= )/g, '<>'],
  [IF, 'true'],
  [IF, 'false'],
  [/\bNOT (?=[a-z(])/g, ''],
]
const COMMENT = /--.*$/gm

/** Changes of what runs, each with its surroundings in the line. */
export function findSqlChanges(text: string): (Change & { readonly around: string })[] {
  const code = text.replace(COMMENT, (comment) => ' '.repeat(comment.length))
  return CHANGES.flatMap(([words, replacement]) =>
    [...code.matchAll(words)].map(({ index: start, 0: { length } }) => {
      const end = start + length
      return { operator: 'sql', start, end, replacement, around: showAround(text, start, end) }
    }),
  )
}

const SHOWN = 40

function showAround(text: string, start: number, end: number): string {
  const [before = ''] = text
    .slice(Math.max(0, start - SHOWN), start)
    .split('\n')
    .slice(-1)
  const [after = ''] = text.slice(end, end + SHOWN).split('\n')
  return `${before.trimStart()}[${text.slice(start, end).replace(/\s+/g, ' ')}]${after.trimEnd()}`
}
