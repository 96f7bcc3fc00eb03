import { Argument, type Command } from 'commander'
import type { WholeLog } from '../audit/archive/whole-log.ts'
import { readSourceAttempts, toPlainRow } from '../audit/export.ts'
import { toIsoTime } from '../contract/time.ts'
import { readPersonNumber } from '../contract/virtual-nin.ts'
import { KINDS, type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { LoggedRequest } from '../requests/line.ts'
import { findRequestsOf, toTimes } from '../requests/of-reference.ts'
import { dim, say, strong, toTable } from '../server/terminal.ts'
import { ARCHIVE_NOTE, ARCHIVE_OPTION, warnAboutArchives, withWholeLog } from './archive-option.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { readSecret } from './prompt.ts'

type Options = { archive?: string[]; json?: true }

export function addAuditShowCommands(audit: Command, readReference: (text: string) => string): void {
  const show = audit
    .command('show')
    .description('show the timeline of one verification: every audit row, in order')
    .argument('<reference>', 'its request_reference', readReference)
    .option(...ARCHIVE_OPTION)
    .option('--json', 'print a JSON array of rows')
    .action((reference: string, { archive, json }: Options) =>
      withCommandContext(async (context) => {
        const { store, audit } = context
        const rows = await withWholeLog(context, archive, (log) => findTimeline(log, reference))
        const requests = await findRequestsOf(store.requests, reference, rows.flatMap(toTimes))
        await audit.record([{ phase: 'audit_viewed', outcome: 'ok', detail: `reference ${reference}` }])
        showTimeline(reference, rows, requests, json)
      }, EXISTING),
    )
  addHelp(show, {
    details: `${ARCHIVE_NOTE} That it was shown is recorded in the audit log first.`,
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

async function findTimeline(log: WholeLog, reference: string): Promise<LoggedRow[]> {
  const rows = await log.store.audit.byReference(reference)
  if (rows.length > 0) return rows
  warnAboutArchives(log)
  throw new UserError('The audit log has no row with this reference.')
}

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

async function runSubject(kind: Kind, { archive, json }: Options): Promise<void> {
  const name = kind.toUpperCase()
  const number = readPersonNumber(kind, (await readSecret(`${name} (not shown): `)).trim())
  if (number === undefined)
    throw new UserError(`A ${name} has 11 digits. Give one number, on standard input or at the prompt.`)
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
