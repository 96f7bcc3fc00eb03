import { Argument, type Command } from 'commander'
import type { ArchiveStatement } from '../audit/archive/archive-format.ts'
import { archiveLog } from '../audit/archive/archive-log.ts'
import type { WholeLog } from '../audit/archive/whole-log.ts'
import { ARCHIVE_SUFFIX } from '../audit/archive/whole-log.ts'
import { readSourceAttempts, toPlainRow } from '../audit/export.ts'
import type { Loss } from '../audit/loss-table.ts'
import { acceptLoss } from '../audit/losses.ts'
import { readRowsToShow } from '../audit/search-timelines.ts'
import type { Store } from '../context/store.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import { toIsoTime } from '../contract/time.ts'
import { KINDS, type Kind, toBlindIndex } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { LoggedRequest } from '../requests/block-writer.ts'
import { findRequestsOf, toInstant } from '../requests/search.ts'
import { dim, say, sayJson, strong, toCount, toTable, warn } from '../server/terminal.ts'
import { readReferenceTime } from '../verification/verification-request.ts'
import { addAuditExportCommand, addAuditProofCommands, addVerifyExtractCommand } from './audit-export.ts'
import {
  ARCHIVE_NOTE,
  ARCHIVE_OPTION,
  readReference,
  warnAboutArchives,
  withWholeLog,
} from './audit-options.ts'
import { addAuditVerifyCommand } from './audit-verify.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { createProgress } from './progress.ts'
import { readNumber, requireConfirmation } from './prompt.ts'

export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .description('verify, search, export and archive the audit log; make proofs')
  addAuditVerifyCommand(audit)
  addAuditExportCommand(audit)
  addAuditArchiveCommand(audit)
  addVerifyExtractCommand(audit)
  addAcceptLossCommand(audit)
  addAuditShowCommands(audit)
  addAuditProofCommands(audit)
  addHelp(audit, {
    examples: {
      'audit verify --checkpoints /elsewhere/checkpoints.log': 'check the whole log',
      'audit subject nin': 'list every look-up of one person',
    },
  })
}

type ShowOptions = { archive?: string[]; json?: true }

function addAuditShowCommands(audit: Command): void {
  const show = audit
    .command('show')
    .description('show the timeline of one verification: its audit rows, in order')
    .argument('<reference>', 'its request_reference', readReference)
    .option(...ARCHIVE_OPTION)
    .option('--json', 'print a JSON array of rows')
    .action((reference: string, { archive, json }: ShowOptions) =>
      withCommandContext(async (context) => {
        const { store, audit } = context
        const { rows, isWhole, period } = await withWholeLog(context, archive, async (log) => ({
          ...(await findTimeline(store, log, reference)),
          period: await log.store.audit.periodOf(reference),
        }))
        const requests = await findRequestsOf(store.requests, reference, period)
        await audit.record([{ phase: 'audit_viewed', outcome: 'ok', detail: `reference ${reference}` }])
        showTimeline(reference, rows, requests, json)
        if (!isWhole) warn(toMoreText(rows.length, reference))
      }, EXISTING),
    )
  addHelp(show, {
    details: `At most 1000 rows are shown. Only a stored response that was returned very often has more; a message says so.\n\n${ARCHIVE_NOTE} That it was shown is recorded in the audit log first.`,
    usesDatabase: true,
    settings: ['TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: { 0: 'shown', 1: 'no row has this reference, or the log could not be read' },
    examples: {
      'audit show ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2': 'sources, times, outcome, fields released',
      'audit show ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2 --json': 'the same rows as JSON',
    },
  })

  const subject = audit
    .command('subject')
    .description('list every look-up of one person, for a data-subject request')
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .option(...ARCHIVE_OPTION)
    .option('--json', 'print a JSON array of rows')
    .action(runSubject)
  addHelp(subject, {
    details: `${NUMBER_NOTE} The search itself is recorded in the audit log.\n\n${ARCHIVE_NOTE}`,
    usesDatabase: true,
    settings: ['TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'audit subject nin': 'ask for the NIN, then list its look-ups',
      'audit subject bvn --json < bvn.txt': 'read the BVN from a file',
    },
  })
}

async function findTimeline(
  { requests }: Pick<Store, 'requests'>,
  log: WholeLog,
  reference: string,
): Promise<Awaited<ReturnType<typeof readRowsToShow>>> {
  const found = await readRowsToShow(log.store.audit, reference)
  if (found.rows.length > 0) return found
  warnAboutArchives(log)
  // Of a request that was refused before anybody was looked up. The reference has its time.
  const [refused] = await findRequestsOf(requests, reference, toInstant(readReferenceTime(reference)))
  throw new UserError(
    refused
      ? `The audit log has no row with this reference: its request of ${toIsoTime(refused.at)} got ${refused.status} ${refused.code} before anybody was looked up, and such a request is not written there. See: tabbat requests show ${refused.requestId}`
      : 'The audit log has no row with this reference, and the request log has no request with it.',
  )
}

const toMoreText = (rows: number, reference: string) =>
  `The stored response was returned more often: only ${rows} rows are shown. For all rows, run: tabbat audit export --reference ${reference}`

function showTimeline(
  reference: string,
  rows: readonly LoggedRow[],
  requests: readonly LoggedRequest[],
  json: true | undefined,
): void {
  if (json) {
    say(JSON.stringify(rows.map(toPlainRow)))
    return
  }
  say(strong(reference))
  for (const row of rows) {
    say(`\n${row.time}  ${strong(row.phase)}  ${dim(`chain ${row.chain}, row ${row.sequence}`)}`)
    for (const fact of listFacts(row)) say(`  ${fact}`)
  }
  for (const { at, requestId, status, code } of requests)
    say(`\n${toIsoTime(at)}  ${strong('request')}  ${requestId}\n  status ${status}, ${code}`)
}

function listFacts(row: LoggedRow): string[] {
  const facts = [
    [row.operation, row.mode && `${row.mode} mode`, row.key_id && `key ${row.key_id}`]
      .filter(Boolean)
      .join(', '),
    row.started_at && `started: ${row.started_at}`,
    row.outcome && `outcome: ${row.outcome}`,
    ...listSources(row),
    row.released && `released: ${row.released.replaceAll(',', ', ')}`,
    row.amount && `amount: ${row.amount}`,
    row.consent_reference && `consent: ${row.consent_reference}`,
    row.detail && `detail: ${row.detail}`,
  ]
  return facts.filter((fact) => typeof fact === 'string' && fact !== '') as string[]
}

function listSources(row: LoggedRow): string[] {
  return readSourceAttempts(row).map(({ name, result, ms, reference }) => {
    const asked = `asked ${name}: ${result}, ${ms} ms`
    return reference === undefined ? asked : `${asked}, the vendor's reference: ${reference}`
  })
}

async function runSubject(kind: Kind, { archive, json }: ShowOptions): Promise<void> {
  const number = await readNumber(kind)
  await withCommandContext(async (context) => {
    const subject = toBlindIndex(context.keyring.subject, kind, number).toString('hex')
    await withWholeLog(context, archive, async (log) => {
      const rows = await log.store.audit.bySubject(subject)
      await context.audit.record([{ phase: 'audit_searched', subject, outcome: 'ok' }])
      if (json) say(JSON.stringify(rows.map(toPlainRow)))
      else showLookUps(rows)
      warnAboutArchives(log)
    })
  }, EXISTING)
}

/** An intent is listed only if it has no outcome. */
function showLookUps(rows: readonly LoggedRow[]): void {
  if (rows.length === 0) {
    say('There are no look-ups of this person.')
    return
  }
  const ended = new Set(rows.flatMap(({ phase, request_reference: of }) => (phase === 'outcome' ? [of] : [])))
  const listed = rows.filter(
    ({ phase, request_reference: of }) => phase !== 'intent' || of === null || !ended.has(of),
  )
  const cells = listed.map((row) => [
    row.time,
    row.operation ?? row.phase,
    row.mode ?? '',
    row.key_id ?? '',
    toOutcome(row),
    row.request_reference ?? '',
    row.consent_reference ?? '',
  ])
  say(toTable([['time', 'operation', 'mode', 'key', 'outcome', 'reference', 'consent'], ...cells]))
}

function toOutcome({ phase, outcome }: LoggedRow): string {
  if (phase === 'intent') return 'started, no outcome recorded'
  return phase === 'replay' ? `${outcome} (replayed)` : (outcome ?? '')
}

type ArchiveOptions = { before: number; to: string; json?: true }

function addAuditArchiveCommand(audit: Command): void {
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

const runArchive = ({ before, to, json }: ArchiveOptions): Promise<void> =>
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

type AcceptLossOptions = { yes?: true; json?: true }

function addAcceptLossCommand(audit: Command): void {
  const command = audit
    .command('accept-loss')
    .description('accept that a failover or a restore lost acknowledged audit rows, so that servers continue')
    .option('--yes', 'do not ask')
    .option('--json', 'print a JSON object with every lost reference')
    .action(runAcceptLoss)
  addHelp(command, {
    details:
      'After a failover to an asynchronous standby, PostgreSQL may lack rows that callers were answered on. The servers notice it, and refuse verifications. First look for the old primary: if its data can be recovered, nothing is lost. This command prints what is missing and writes it to the audit log as a signed statement (log_shortened). Running servers continue within two seconds. docs/production.md says under which conditions a failover loses nothing.\n\nAfter the restore of a backup, run it on every node but the one that restored, before any server starts: it also reads what this node has acknowledged and signed.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'audit accept-loss': 'show what is missing, and ask',
      'audit accept-loss --yes --json': 'accept it, and print the lost references',
    },
  })
}

const NOT_ACCEPTED =
  'Nothing was accepted. The missing rows are noted, and are reported until they are accepted.'

const runAcceptLoss = ({ yes, json }: AcceptLossOptions): Promise<void> =>
  withCommandContext(
    async ({ store, auditLog, signer, database }) => {
      const losses = await store.losses.list('open')
      if (losses.length === 0) {
        if (json) return sayJson({ database }, { accepted: [] })
        throw new UserError(
          'No loss is known: no server has found that acknowledged rows are missing, nor do the files of this node say so.',
        )
      }
      if (!json) losses.forEach(reportLoss)
      await requireConfirmation('Accept that these rows are lost?', yes, NOT_ACCEPTED)
      const record = auditLog.record.bind(auditLog)
      for (const loss of losses)
        await acceptLoss(loss, { losses: store.losses, signer, record, by: toCommandAuthor() })
      if (json) return sayJson({ database }, { accepted: losses })
      say(`${strong('The loss is recorded in the audit log.')} Running servers continue; start the others.`)
    },
    { mustExist: true, notesLosses: true },
  )

const MAX_SHOWN = 10

function reportLoss({ chain, kept, acknowledged, references }: Loss): void {
  say(strong(`Chain ${chain}: ${toCount(acknowledged - kept, 'row')} missing, after row ${kept}.`))
  if (references.length === 0) say('The node that wrote them has not reported their references.')
  for (const reference of references.slice(0, MAX_SHOWN)) say(`  ${reference}`)
  if (references.length > MAX_SHOWN) say(`  and ${references.length - MAX_SHOWN} more: --json prints all`)
}
