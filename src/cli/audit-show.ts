import { Argument, type Command } from 'commander'
import { dim, say, strong, toTable } from '../app/terminal.ts'
import { readTried, toPlainRow } from '../audit/export.ts'
import { KINDS, type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import type { AuditRow } from '../store/audit-row.ts'
import { EXISTING, withCommandContext, withStore } from './command-context.ts'
import { readSecret } from './prompt.ts'

type Options = { json?: true }

export function addAuditShowCommands(audit: Command, readReference: (text: string) => string): void {
  audit
    .command('show')
    .description('tell the story of one verification')
    .argument('<reference>', 'its request_reference', readReference)
    .option('--json', 'print an array of rows for a program')
    .action((reference: string, { json }: Options) =>
      withStore(async ({ store }) => showStory(reference, await store.audit.byReference(reference), json)),
    )

  audit
    .command('subject')
    .description('list every look-up of one person, for a data-subject request')
    .addArgument(new Argument('<kind>', 'which number you will give').choices(KINDS))
    .option('--json', 'print an array of rows for a program')
    .addHelpText(
      'after',
      `
The number is read from standard input, or asked for on a terminal without being shown. It is not taken from the
command line, which others on this machine can see.`,
    )
    .action(runSubject)
}

function showStory(reference: string, rows: readonly AuditRow[], json: true | undefined): void {
  if (rows.length === 0) throw new UserError('There is nothing in the audit log under this reference.')
  if (json) {
    say(JSON.stringify(rows.map(toPlainRow)))
    return
  }
  say(strong(reference))
  for (const row of rows) {
    say(`\n${row.time}  ${strong(row.phase)}  ${dim(`chain ${row.chain}, row ${row.sequence}`)}`)
    for (const fact of listFacts(row)) say(`  ${fact}`)
  }
}

function listFacts(row: AuditRow): string[] {
  const facts = [
    [row.operation, row.mode && `${row.mode} mode`, row.key_id && `key ${row.key_id}`]
      .filter(Boolean)
      .join(', '),
    row.outcome && `outcome: ${row.outcome}`,
    ...listSources(row),
    row.fields_released && `released: ${row.fields_released.replaceAll(',', ', ')}`,
    row.amount && `amount: ${row.amount}`,
    row.consent_reference && `consent: ${row.consent_reference}`,
    row.detail && `detail: ${row.detail}`,
  ]
  return facts.filter((fact) => typeof fact === 'string' && fact !== '') as string[]
}

function listSources(row: AuditRow): string[] {
  return readTried(row).map(({ name, result, ms, reference }) => {
    const asked = `asked ${name}: ${result}, ${ms} ms`
    return reference === undefined ? asked : `${asked}, the vendor's reference: ${reference}`
  })
}

async function runSubject(kind: Kind, { json }: Options): Promise<void> {
  const name = kind.toUpperCase()
  const number = (await readSecret(`${name} (not shown): `)).trim()
  if (!/^[0-9]{11}$/.test(number))
    throw new UserError(`A ${name} has 11 digits: give one number, on standard input or when asked.`)
  await withCommandContext(async ({ store, keyring, audit }) => {
    const subject = toBlindIndex(keyring.subject, kind, number).toString('hex')
    const rows = await store.audit.bySubject(subject)
    await audit.record([{ phase: 'audit_searched', subject, outcome: 'ok' }])
    if (json) say(JSON.stringify(rows.map(toPlainRow)))
    else showLookUps(rows)
  }, EXISTING)
}

/** An intent is told only where nothing came of it. */
function showLookUps(rows: readonly AuditRow[]): void {
  if (rows.length === 0) {
    say('Nobody has looked this person up.')
    return
  }
  const ended = new Set(rows.flatMap(({ phase, request_reference: of }) => (phase === 'outcome' ? [of] : [])))
  const told = rows.filter(
    ({ phase, request_reference: of }) => phase !== 'intent' || of === null || !ended.has(of),
  )
  const cells = told.map((row) => [
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

function toOutcome({ phase, outcome }: AuditRow): string {
  if (phase === 'intent') return 'begun, end not recorded'
  return phase === 'replay' ? `${outcome} (replayed)` : (outcome ?? '')
}
