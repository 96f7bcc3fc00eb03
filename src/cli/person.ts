import { Argument, type Command, Option } from 'commander'
import { readReason, toCommandAuthor } from '../contract/free-text.ts'
import { isVirtualNin, readPersonNumber } from '../contract/person.ts'
import type { PersonReport } from '../contract/person-report.ts'
import { KINDS, type Kind, toBlindIndexText } from '../crypto/mac.ts'
import { emptyWal } from '../database/empty-wal.ts'
import { loadKeyring } from '../database/load-keyring.ts'
import { UserError } from '../errors.ts'
import {
  type Erasure,
  eraseAgain,
  erasePerson,
  IN_WAL,
  isAnything,
  listErased,
  listRemains,
} from '../people/erase-person.ts'
import type { Erased } from '../people/erase-rows.ts'
import { addMissing, ERASURES_FILE, readErasuresFiles, toErasureFolder } from '../people/erasures-file.ts'
import { createPersonReport, toArchiveLimits } from '../people/person-report.ts'
import { toReportCsv, toReportPage, toReportText } from '../people/report-formats.ts'
import { createRegistry } from '../registry/registry.ts'
import { print, say, sayJson, strong, toCount, warn } from '../server/terminal.ts'
import { ARCHIVE_NOTE, ARCHIVE_OPTION, withWholeLog } from './audit-options.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { requireOutput, writeOutput } from './output-path.ts'
import { readSecret, readShortFile, requireConfirmation } from './prompt.ts'

export function addPersonCommand(program: Command): void {
  const person = program
    .command('person')
    .description('the rights of one person: a report of what is held and who asked, and erasure')
  addHelp(person, {
    examples: {
      'person report nin --reason "Request of access, case 17"': 'what is held, and who asked',
      'person erase nin --reason "Request of erasure, case 17"': 'erase one person',
    },
  })
  addPersonReportCommand(person)
  addEraseCommand(person)
  addEraseAgainCommand(person)
}

function addEraseCommand(person: Command): void {
  const erase = person
    .command('erase')
    .description(
      'erase all data stored about one person: record, picture, kept answers, pending questions, batch rows, reused results',
    )
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .requiredOption(
      '--reason <text>',
      'reason, for the audit log; 10 to 200 characters, without names and numbers',
    )
    .option('--number-file <file>', 'file that holds the number')
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action((kind: Kind, options: EraseOptions) => runErase(kind, options, sayRemains))
  addHelp(erase, {
    details: `${NUMBER_NOTE} It prints what was erased, and what remains and why. The erasure is recorded in the audit log, which itself is not changed. See docs/people.md.`,
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'person erase nin --reason "Request of erasure, case 17"': 'ask for the NIN and for a confirmation',
      'person erase bvn --reason "Request of erasure, case 17" --yes --json < bvn.txt': 'for a program',
    },
  })
}

function addEraseAgainCommand(person: Command): void {
  const again = person
    .command('erase-again')
    .description('apply the erasures of a file to this database, after a restore of an older copy')
    .argument('<path...>', 'erasures.log, or its folder')
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(runEraseAgain)
  addHelp(again, {
    details:
      '"tabbat restore" does this itself where it finds the file. Erasures that the database knows are left out. See docs/people.md.',
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'person erase-again /srv/tabbat.old': 'the file is in this folder',
      'person erase-again /copies/erasures.log --yes --json': 'for a program',
    },
  })
}

/** The number of a person, from a file, standard input or a prompt, and never from the arguments. */
export async function readNumber(kind: Kind, file: string | undefined): Promise<string> {
  const name = kind.toUpperCase()
  const text = file === undefined ? await readSecret(`${name} (not shown): `) : await readShortFile(file)
  const number = readPersonNumber(kind, text.trim())
  if (number !== undefined) return number
  throw new UserError(
    `A ${name} has 11 digits. Give one number, on standard input, at the prompt or with --number-file.`,
  )
}

/** The reason is written to the audit log. */
export function requireReason(text: string): string {
  const given = readReason(text)
  if ('problem' in given) throw new UserError(`The reason ${given.problem}.`)
  return given.reason
}

export type EraseOptions = { yes?: true; json?: true; reason?: string; numberFile?: string }

/** `onErased` may say more. */
export async function runErase(
  kind: Kind,
  options: EraseOptions,
  onErased: (number: string, erasure: Erasure) => void = () => {},
): Promise<void> {
  const { yes, json, numberFile } = options
  const reason = options.reason === undefined ? undefined : requireReason(options.reason)
  const number = await readNumber(kind, numberFile)
  const name = isVirtualNin(number) ? 'virtual NIN' : kind.toUpperCase()
  await withCommandContext(async (context) => {
    await requireConfirmation(
      `Permanently erase all data stored about this ${name}?`,
      yes,
      'Nothing was erased.',
    )
    const erasure = await erasePerson(context, kind, number, reason)
    if (json) sayJson(context, toJson(erasure, number))
    else {
      sayErased(erasure, name)
      if (isVirtualNin(number)) say(GIVE_THE_NIN)
      onErased(number, erasure)
    }
    const { fileProblem, walProblem } = erasure
    if (walProblem) warnOf(walProblem)
    if (fileProblem)
      warn(
        `the erasure could not be added to ${ERASURES_FILE} in ${toErasureFolder(context.config)} (${fileProblem}). A running server adds it within a minute, if it can write there. Without it, a restore of an older backup brings the person back.`,
      )
  }, EXISTING)
}

const GIVE_THE_NIN =
  'Data that is stored under the NIN behind it cannot be found by a virtual NIN. Run the command again with the NIN of the person.'

const warnOf = ({ what, why }: typeof IN_WAL) => warn(`${what} remain. ${why}`)

const sayErased = (erased: Erased, name: string) =>
  isAnything(erased)
    ? say(`Erased: ${listErased(erased)}.`)
    : say(`No data is stored under this ${name}. Nothing was erased.`)

function sayRemains(number: string, erasure: Erasure): void {
  // The warning says what remains in the log.
  for (const { what, why } of listRemains(number, { ...erasure, walProblem: undefined }))
    say(`Remains: ${what}. ${why}`)
}

const toJson = (erased: Erasure, number: string) => ({
  erased: isAnything(erased),
  records: erased.records,
  pictures: erased.pictures,
  kept_answers: erased.keptAnswers,
  reused_results: erased.reusedResults,
  queued_verifications: erased.queued,
  batch_labels: erased.batchLabels,
  remains: listRemains(number, erased),
})

/** After a restore without the file, or with the tools of PostgreSQL. */
async function runEraseAgain(
  paths: readonly string[],
  { yes, json }: Pick<EraseOptions, 'yes' | 'json'>,
): Promise<void> {
  await withCommandContext(async (context) => {
    const { config, store, keyring } = context
    const files = await readErasuresFiles(paths, toErasureFolder(config))
    await requireConfirmation('Erase the people of these files again?', yes, 'Nothing was erased.')
    const again = await eraseAgain(context, files)
    await addMissing(store.erasure, keyring, toErasureFolder(config))
    if (!(await emptyWal(store))) warnOf(IN_WAL)
    const found = again.filter(isAnything).length
    if (json) return sayJson(context, { applied: again.length, found })
    say(
      `${toCount(again.length, 'erasure')} applied again; data was found for ${found}. Erasures that this database knows were left out.`,
    )
  }, EXISTING)
}

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

function addPersonReportCommand(person: Command): void {
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
    settings: ['TABBAT_AUDIT_ARCHIVE_DIR', 'TABBAT_ORGANISATION'],
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
    await writeOutput(out, text, force)
  }, EXISTING)
  if (out !== undefined)
    say(`The report is in ${out}. It holds personal data: delete it when it was handed over.`)
}

type Asked = { readonly kind: Kind; readonly number: string; readonly reason: string }

function readReport(context: CommandContext, archive: string[] | undefined, asked: Asked) {
  const { store, keyring, config, isDemo } = context
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
      {
        ...asked,
        by: toCommandAuthor(),
        withValues: true,
        isDemo,
        organisation: config.organisation ?? [],
        limits: toArchiveLimits(log),
      },
    ),
  )
}

const TEXTS: Readonly<Record<Format, (report: PersonReport) => string>> = {
  text: (report) => toReportText(report, strong),
  json: (report) => `${JSON.stringify(report, undefined, 2)}\n`,
  csv: toReportCsv,
  html: toReportPage,
}
