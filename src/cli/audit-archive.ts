import type { Command } from 'commander'
import { archiveLog } from '../audit/archive/archive-log.ts'
import type { ArchiveStatement } from '../audit/archive/archive-statement.ts'
import { ARCHIVE_SUFFIX } from '../audit/archive/find-archives.ts'
import { toCommandAuthor } from '../contract/command-author.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, strong, toCount } from '../server/terminal.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { createProgress } from './progress.ts'

type Options = { before: number; to: string; json?: true }

export function addAuditArchiveCommand(audit: Command): void {
  const command = audit
    .command('archive')
    .description('move old audit rows from the database to a file that can be verified and searched')
    .requiredOption('--before <date>', 'archive the months that ended before this day, in UTC', readBefore)
    .requiredOption('--to <file>', `file to write; its name must end with ${ARCHIVE_SUFFIX}`, readFileName)
    .option('--json', 'print a JSON object')
    .action(runArchive)
  addHelp(command, {
    details:
      'Whole months are archived, with their checkpoints. The file is written, read again and verified before the first row is removed from the database; the archive is recorded in the audit log by a signed statement (log_archived). A month in which a server still has an open chain stays: it is closed seven days after its last use. If the command is interrupted, run it again: no row is lost.\n\nKeep the file: the commands that read the audit log take it with --archive. Servers may run meanwhile. TABBAT_AUDIT_KEEP archives without a command.',
    usesDatabase: true,
    settings: ['TABBAT_AUDIT_KEEP', 'TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      [`audit archive --before 2026-01-01 --to /archive/2025${ARCHIVE_SUFFIX}`]:
        'archive everything up to 2025',
      [`audit archive --before 2026-07-01 --to 2026-06${ARCHIVE_SUFFIX} --json`]:
        'print what was archived as JSON',
    },
  })
}

function readBefore(text: string): number {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00.000Z`) : Number.NaN
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text)
    throw new UserError('--before takes a date such as 2026-01-01.')
  if (at > Date.now())
    throw new UserError('--before takes a date in the past: newer rows are still being written.')
  return at
}

function readFileName(text: string): string {
  if (text.endsWith(ARCHIVE_SUFFIX)) return text
  throw new UserError(
    `The name of an archive ends with ${ARCHIVE_SUFFIX}, so that a folder of archives can be searched.`,
  )
}

const runArchive = ({ before, to, json }: Options): Promise<void> =>
  withCommandContext(async ({ store, signer, auditLog, database }) => {
    const progress = createProgress()
    const by = toCommandAuthor()
    const deps = { store, signer, audit: auditLog, by, onProgress: progress.show }
    const { archived, left } = await archiveLog(before, to, deps).finally(progress.clear)
    if (json) return sayJson({ database }, { file: archived ? to : null, ...toFigures(archived), left })
    for (const line of left) say(line)
    if (!archived) return say('There was nothing to archive. No file was written.')
    const { number, rows, chains, checkpoints } = archived
    say(strong(`Archive ${number} is complete: ${to}`))
    say(
      `${toCount(rows, 'row')} in ${toCount(chains.length, 'chain')} and ${toCount(checkpoints, 'checkpoint')} were verified in the file and removed from the database.`,
    )
  }, EXISTING)

const toFigures = (archived: ArchiveStatement | undefined) =>
  archived && {
    number: archived.number,
    rows: archived.rows,
    chains: archived.chains.length,
    checkpoints: archived.checkpoints,
    digest: archived.digest,
  }
