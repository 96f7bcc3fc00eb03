import { Argument, type Command, InvalidArgumentError } from 'commander'
import { namesWith, type VendorName } from '../sources/vendors.ts'
import type { ImportOptions, SyncOptions } from './catalogue-change.ts'
import type { ReviewOptions } from './catalogue-review.ts'

type Json = { json?: true }

/** Loaded when wanted: the other commands need none of it. */
const loadChange = () => import('./catalogue-change.ts')
const loadReview = () => import('./catalogue-review.ts')
const loadShow = () => import('./catalogue-show.ts')

export function addCatalogueCommand(program: Command): void {
  const catalogue = program
    .command('catalogue')
    .description('fetch, import, look at and roll back the lists of bundles and TV products')
    .addHelpText(
      'after',
      `
Every change makes a new version; running servers switch to it within 5 seconds. The SME list is fixed by the API.

Examples:
  tabbat catalogue sync vtpass --dry-run      see what VTpass would change
  tabbat catalogue sync vtpass                take it over
  tabbat catalogue review                     see which lists of a vendor wait for you
  tabbat catalogue export lists.json          write the lists to a file, to edit them
  tabbat catalogue import lists.json          take the edited file over
  tabbat catalogue rollback                   go back to the version before`,
    )
  addChangeCommands(catalogue)
  addShowCommands(catalogue)
}

function addChangeCommands(catalogue: Command): void {
  catalogue
    .command('sync')
    .description('fetch the lists of a vendor and put them in force')
    .addArgument(new Argument('<vendor>', 'whose account is in the settings').choices(namesWith('catalogue')))
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--force', 'take lists that look like a mistake, without a review')
    .option('--json', 'print an object for a program')
    .addHelpText('after', '\nWhat the vendor does not sell stays as it is. See docs/catalogue.md.')
    .action(async (name: VendorName, options: SyncOptions) => (await loadChange()).runSync(name, options))

  catalogue
    .command('import')
    .description('put the lists of a file in force')
    .argument(
      '<file>',
      'JSON as "catalogue export" writes it, or a single list of it; - reads standard input',
    )
    .option('--dry-run', 'show what would change, and change nothing')
    .option(
      '--force',
      'take lists that look like a mistake: empty, missing, halved, or with prices that jump',
    )
    .option('--json', 'print an object for a program')
    .addHelpText(
      'after',
      '\nA whole file replaces all lists; a single list replaces the one of its name, or is added.',
    )
    .action(async (file: string, options: ImportOptions) => (await loadChange()).runImport(file, options))

  catalogue
    .command('review')
    .description('list the lists of vendors that wait for a person, look at them, and decide')
    .argument('[id]', 'number of a review, to see what it would change', readReviewId)
    .option('--accept <id>', 'put the lists of this review in force', readReviewId)
    .option('--reject <id>', 'keep the lists of now; the same ones are not proposed again', readReviewId)
    .option('--yes', 'do not ask')
    .option('--json', 'print an object for a program')
    .action(async (id: number | undefined, options: ReviewOptions) =>
      (await loadReview()).runReview(id, options),
    )

  catalogue
    .command('rollback')
    .description('put an older version in force again, as a new version')
    .argument(
      '[version]',
      'its number, or shipped for the lists of this release (default: the one before)',
      readTarget,
    )
    .option('--json', 'print an object for a program')
    .action(async (target: number | 'shipped' | undefined, options: Json) =>
      (await loadChange()).runRollback(target, options),
    )
}

function addShowCommands(catalogue: Command): void {
  catalogue
    .command('history')
    .description('list the versions, and when each vendor was asked last')
    .option('--json', 'print an object for a program')
    .action(async (options: Json) => (await loadShow()).showHistory(options))

  catalogue
    .command('diff')
    .description('show what changed from one version to another')
    .argument('[from]', 'number of a version (default: the one before the last)', readVersionId)
    .argument('[to]', 'number of a version (default: the last)', readVersionId)
    .option('--json', 'print an array for a program')
    .action(async (from: number | undefined, to: number | undefined, options: Json) =>
      (await loadShow()).showDiff(from, to, options),
    )

  catalogue
    .command('export')
    .description('write the lists that are in force as JSON, for "catalogue import"')
    .argument('[file]', 'where to; it must not exist yet (default: standard output)')
    .option('--of <version>', 'number of an older version to write instead', readVersionId)
    .action(async (file: string | undefined, options: { of?: number }) =>
      (await loadShow()).exportLists(file, options),
    )
}

function readVersionId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give the number of a version; tabbat catalogue history lists them.')
}

function readReviewId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give the number of a review; tabbat catalogue review lists them.')
}

const readTarget = (text: string) => (text === 'shipped' ? text : readVersionId(text))
