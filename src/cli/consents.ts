import type { Command } from 'commander'
import { toPurpose } from '../contract/free-text.ts'
import { UserError } from '../errors.ts'
import { openKeyNames } from '../keys/key-names.ts'
import { type ConsentFilter, foldRequests, listConsents } from '../people/recorded-requests.ts'
import { say, sayJson, toTable, warn } from '../server/terminal.ts'
import { ARCHIVE_NOTE, ARCHIVE_OPTION, warnAboutArchives, withWholeLog } from './audit-options.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp } from './help.ts'
import { DATE_NOTE, readSince, readUntil } from './options.ts'

type Options = {
  since?: string
  until?: string
  purpose?: string
  key?: string
  archive?: string[]
  json?: true
}

/** Rows of one consent. */
const MAX_ROWS = 20_000

export function addConsentsCommand(program: Command): void {
  const command = program
    .command('consents')
    .description('list the consents that callers named, or the verifications under one of them')
    .argument('[reference]', "the caller's X-Consent-Reference")
    .option(
      '--since <time>',
      'from this time on, such as 30d or 2026-01-31 (default: 30d; with a reference: all)',
      readSince,
    )
    .option('--until <time>', 'up to this time; with a date, up to its end', readUntil)
    .option('--purpose <word>', 'with this X-Purpose only')
    .option('--key <id>', 'by this API key only')
    .option(...ARCHIVE_OPTION)
    .option('--json', 'print a JSON object')
    .action(runConsents)
  addHelp(command, {
    details: `Without a reference it reads the audit log backwards, at most 500 000 rows. With one, it finds the rows by an index, and reads all of each archive. People are counted by the keyed hash of their number, and not named. The search is recorded in the audit log. ${DATE_NOTE} See docs/people.md.\n\n${ARCHIVE_NOTE}`,
    usesDatabase: true,
    settings: ['TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: { 0: 'listed', 1: 'no verification has this consent reference, or the log could not be read' },
    examples: {
      'consents --since 7d': 'the consents of the last week',
      'consents shop/2026/000123 --json': 'the verifications under one consent, for a program',
    },
  })
}

const DEFAULT_SINCE = '30d'

async function runConsents(reference: string | undefined, options: Options): Promise<void> {
  const { since, until, key } = options
  const purpose = options.purpose === undefined ? undefined : toPurpose(options.purpose)
  const filter = { from: since, to: until, purpose, keyId: key }
  await withCommandContext(async (context) => {
    await context.audit.record([{ phase: 'audit_searched', outcome: 'ok', detail: 'consents' }])
    await withWholeLog(context, options.archive, async (log) => {
      warnAboutArchives(log)
      const opened = { ...context, store: log.store }
      return reference === undefined
        ? showConsents(opened, { ...filter, from: since ?? readSince(DEFAULT_SINCE) }, options.json)
        : showConsent(opened, reference, filter, options.json)
    })
  }, EXISTING)
}

async function showConsents(
  context: CommandContext,
  filter: ConsentFilter,
  json: true | undefined,
): Promise<void> {
  const { consents, searchedBackTo } = await listConsents(context.store.audit, filter)
  if (json) return sayJson(context, { consents, searched_back_to: searchedBackTo ?? null })
  if (consents.length === 0) say('No verification named a consent in this time.')
  else
    say(
      toTable([
        ['consent', 'verifications', 'people', 'first', 'last', 'purposes'],
        ...consents.map((consent) => [
          consent.consent_reference,
          String(consent.verifications),
          String(consent.people),
          consent.first_at,
          consent.last_at,
          consent.purposes.join(' '),
        ]),
      ]),
    )
  if (searchedBackTo)
    warn(`the search stopped at ${searchedBackTo}. Continue with --until ${searchedBackTo}.`)
}

async function showConsent(
  context: CommandContext,
  reference: string,
  { from, to, purpose, keyId }: ConsentFilter,
  json: true | undefined,
): Promise<void> {
  const { store } = context
  const rows = await store.audit.byConsent(reference, MAX_ROWS + 1)
  const { nameOf } = await openKeyNames(store.keys)
  const requests = foldRequests(rows.slice(0, MAX_ROWS), nameOf).filter(
    (request) =>
      (from === undefined || request.started_at >= from) &&
      (to === undefined || request.started_at <= to) &&
      (purpose === undefined || request.purpose === purpose) &&
      (keyId === undefined || request.key_id === keyId),
  )
  if (requests.length === 0)
    throw new UserError(
      rows.length === 0
        ? 'The audit log has no verification with this consent reference.'
        : 'No verification with this consent reference fits the other options.',
    )
  if (json) sayJson(context, { consent_reference: reference, requests })
  else
    say(
      toTable([
        ['started', 'key', 'operation', 'outcome', 'purpose', 'reference'],
        ...requests.map((request) => [
          request.started_at,
          request.key_name ?? request.key_id ?? '',
          request.operation ?? '',
          request.outcome ?? 'no outcome recorded',
          request.purpose ?? '',
          request.request_reference,
        ]),
      ]),
    )
  if (rows.length > MAX_ROWS) warn(`the consent has more rows: ${MAX_ROWS} of them are shown.`)
}
