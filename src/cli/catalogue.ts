import { Argument, type Command, InvalidArgumentError } from 'commander'
import { namesWith, type VendorName } from '../sources/vendors.ts'
import type { ImportOptions, SyncOptions } from './catalogue-change.ts'
import type { ReviewOptions } from './catalogue-review.ts'
import { addHelp, EXIT_CODES } from './help.ts'

type Json = { json?: true }

/** Loaded on demand: the other commands need none of it. */
const loadChange = () => import('./catalogue-change.ts')
const loadReview = () => import('./catalogue-review.ts')
const loadShow = () => import('./catalogue-show.ts')

export function addCatalogueCommand(program: Command): void {
  const catalogue = program
    .command('catalogue')
    .description('sync, import, review and roll back the lists of bundles and TV products')
  addHelp(catalogue, {
    details:
      'Every change creates a new version. Running servers switch to it within 5 seconds. The SME list is fixed by the API and cannot be changed.',
    examples: {
      'catalogue sync vtpass --dry-run': 'show what the lists of VTpass would change',
      'catalogue rollback': 'return to the previous version',
    },
  })
  addSyncCommand(catalogue)
  addImportCommand(catalogue)
  addReviewCommand(catalogue)
  addRollbackCommand(catalogue)
  addHistoryCommand(catalogue)
  addDiffCommand(catalogue)
  addExportCommand(catalogue)
}

function addSyncCommand(catalogue: Command): void {
  const command = catalogue
    .command('sync')
    .description('fetch the lists of a vendor and activate them')
    .addArgument(new Argument('<vendor>', 'a vendor whose settings are set').choices(namesWith('catalogue')))
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--force', 'activate lists that look like a mistake, without a review')
    .option('--json', 'print a JSON object')
    .action(async (name: VendorName, options: SyncOptions) => (await loadChange()).runSync(name, options))
  addHelp(command, {
    details: 'Lists that the vendor does not sell stay unchanged. See docs/catalogue.md.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'catalogue sync vtpass --dry-run': 'show the changes',
      'catalogue sync vtpass': 'activate them',
    },
  })
}

function addImportCommand(catalogue: Command): void {
  const command = catalogue
    .command('import')
    .description('activate the lists of a file')
    .argument('<file>', 'JSON as "catalogue export" writes it, or one list of it; - reads standard input')
    .option('--dry-run', 'show what would change, and change nothing')
    .option(
      '--force',
      'activate lists that look like a mistake: empty, missing, halved, or with prices that jump',
    )
    .option('--json', 'print a JSON object')
    .action(async (file: string, options: ImportOptions) => (await loadChange()).runImport(file, options))
  addHelp(command, {
    details: 'A whole file replaces all lists. A single list replaces the list of its name, or is added.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'catalogue import lists.json --dry-run': 'show the changes',
      'catalogue import - < lists.json': 'read standard input',
    },
  })
}

function addReviewCommand(catalogue: Command): void {
  const command = catalogue
    .command('review')
    .description('list the fetched lists that need a review, show one, accept or reject it')
    .argument('[id]', 'number of a review to show', readReviewId)
    .option('--accept <id>', 'activate the lists of this review', readReviewId)
    .option('--reject <id>', 'keep the current lists; the same lists are not proposed again', readReviewId)
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(async (id: number | undefined, options: ReviewOptions) =>
      (await loadReview()).runReview(id, options),
    )
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'catalogue review': 'list the open reviews', 'catalogue review --accept 3': 'accept one' },
  })
}

function addRollbackCommand(catalogue: Command): void {
  const command = catalogue
    .command('rollback')
    .description('activate an older version again, as a new version')
    .argument(
      '[version]',
      'number of a version, or "shipped" for the lists of this release (default: the previous version)',
      readTarget,
    )
    .option('--json', 'print a JSON object')
    .action(async (target: number | 'shipped' | undefined, options: Json) =>
      (await loadChange()).runRollback(target, options),
    )
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'catalogue rollback': 'return to the previous version',
      'catalogue rollback shipped': 'return to the lists of this release',
    },
  })
}

function addHistoryCommand(catalogue: Command): void {
  const command = catalogue
    .command('history')
    .description('list the versions, and the last sync of each vendor')
    .option('--json', 'print a JSON object')
    .action(async (options: Json) => (await loadShow()).showHistory(options))
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'catalogue history': 'a table', 'catalogue history --json': 'a JSON object' },
  })
}

function addDiffCommand(catalogue: Command): void {
  const command = catalogue
    .command('diff')
    .description('show what changed between two versions')
    .argument('[from]', 'number of a version (default: the one before the last)', readVersionId)
    .argument('[to]', 'number of a version (default: the last)', readVersionId)
    .option('--json', 'print a JSON array')
    .action(async (from: number | undefined, to: number | undefined, options: Json) =>
      (await loadShow()).showDiff(from, to, options),
    )
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'catalogue diff': 'the last change', 'catalogue diff 2 5': 'from version 2 to version 5' },
  })
}

function addExportCommand(catalogue: Command): void {
  const command = catalogue
    .command('export')
    .description('write the active lists as JSON, for "catalogue import"')
    .argument('[file]', 'a file that does not exist yet (default: standard output)')
    .option('--of <version>', 'number of an older version to write instead', readVersionId)
    .action(async (file: string | undefined, options: { of?: number }) =>
      (await loadShow()).exportLists(file, options),
    )
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'catalogue export lists.json': 'write a file, to edit it',
      'catalogue export --of 2': 'print version 2',
    },
  })
}

function readVersionId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give the number of a version: see tabbat catalogue history.')
}

function readReviewId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give the number of a review: see tabbat catalogue review.')
}

const readTarget = (text: string) => (text === 'shipped' ? text : readVersionId(text))
