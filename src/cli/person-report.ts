import { rm, writeFile } from 'node:fs/promises'
import { Argument, type Command, Option } from 'commander'
import { toCommandAuthor } from '../contract/command-author.ts'
import type { PersonReport } from '../contract/person-report.ts'
import { KINDS, type Kind, toBlindIndexText } from '../crypto/blind-index.ts'
import { toArchiveLimits } from '../people/archive-limits.ts'
import { createPersonReport } from '../people/person-report.ts'
import { toReportCsv } from '../people/report-csv.ts'
import { toReportPage } from '../people/report-page.ts'
import { toReportSections } from '../people/report-sections.ts'
import { createRegistry } from '../registry/registry.ts'
import { print, say, strong, toTable } from '../server/terminal.ts'
import { loadKeyring } from '../store/sealed-store.ts'
import { ARCHIVE_NOTE, ARCHIVE_OPTION, withWholeLog } from './archive-option.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { requireOutput, toWriteError } from './output-path.ts'
import { readNumber, requireReason } from './person-input.ts'

const FORMATS = ['text', 'json', 'csv', 'html'] as const
type Format = (typeof FORMATS)[number]
type Options = {
  reason: string
  numberFile?: string
  format: Format
  archive?: string[]
  out?: string
  force?: true
}

export function addPersonReportCommand(person: Command): void {
  const report = person
    .command('report')
    .description('print what is held about one person, who asked for it, and what was released')
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .requiredOption(
      '--reason <text>',
      'reason, for the audit log; 10 to 200 characters, without names and numbers',
    )
    .option('--number-file <file>', 'file that holds the number')
    .addOption(new Option('--format <format>', 'form of the report').choices(FORMATS).default('text'))
    .option(...ARCHIVE_OPTION)
    .option('--out <file>', 'write to a file that only its owner can read')
    .option('--force', 'replace an existing file')
    .action(runReport)
  addHelp(report, {
    details: `${NUMBER_NOTE} The report holds personal data in the clear. It is recorded in the audit log before it is printed. html is a document for print: open it in a browser and print it, or save it as PDF there. See docs/people.md.\n\n${ARCHIVE_NOTE}`,
    usesDatabase: true,
    settings: ['TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'person report nin --reason "Request of access, case 17"': 'ask for the NIN, then print the report',
      'person report bvn --reason "Request of access, case 17" --format html --out report.html < bvn.txt':
        'a document for print',
    },
  })
}

async function runReport(kind: Kind, options: Options): Promise<void> {
  const { format, out, force } = options
  const reason = requireReason(options.reason)
  if (out !== undefined) requireOutput(out, force)
  const number = await readNumber(kind, options.numberFile)
  await withCommandContext(async (context) => {
    const report = await readReport(context, options.archive, { kind, number, reason })
    const subject = toBlindIndexText(context.keyring.subject, kind, number)
    const detail = `${kind}, ${format}; reason: ${reason}`
    await context.audit.record([{ phase: 'person_reported', subject, outcome: 'ok', detail }])
    const text = TEXTS[format](report)
    if (out === undefined) return print(text)
    if (force) await rm(out, { force: true })
    await writeFile(out, text, { mode: 0o600, flag: 'wx' }).catch((error) => {
      throw toWriteError(out, error)
    })
  }, EXISTING)
  if (out !== undefined)
    say(`The report is in ${out}. It holds personal data: delete it when it was handed over.`)
}

type Asked = { readonly kind: Kind; readonly number: string; readonly reason: string }

function readReport(context: CommandContext, archive: string[] | undefined, asked: Asked) {
  const { store, keyring, config } = context
  let keys = keyring
  const registry = createRegistry({
    table: store.registry,
    keyring: () => keys,
    reloadKeyring: async () => {
      keys = (await loadKeyring(config, store)).keyring
      return keys
    },
  })
  return withWholeLog(context, archive, (log) =>
    createPersonReport(
      { store: log.store, keyring, registry },
      { ...asked, by: toCommandAuthor(), withValues: true, limits: toArchiveLimits(log) },
    ),
  )
}

const TEXTS: Readonly<Record<Format, (report: PersonReport) => string>> = {
  text: (report) => toReportSections(report).map(toText).join('\n'),
  json: (report) => `${JSON.stringify(report, undefined, 2)}\n`,
  csv: toReportCsv,
  html: toReportPage,
}

function toText({ title, columns, rows, ifEmpty }: ReturnType<typeof toReportSections>[number]): string {
  const body =
    rows.length === 0 ? ifEmpty : columns.length === 1 ? rows.join('\n') : toTable([columns, ...rows])
  return `${strong(title)}\n${body}\n`
}
