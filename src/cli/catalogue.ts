import { readFile, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { Argument, type Command, InvalidArgumentError } from 'commander'
import type { CatalogueTable } from '../catalogue/catalogue-table.ts'
import { importLists, requireSettings, rollBack, syncVendor } from '../catalogue/change.ts'
import { CHANGE_WORDS, type Change, diffFiles, summarise, toPlainChange } from '../catalogue/diff.ts'
import { acceptReview, readReview, rejectReview } from '../catalogue/review.ts'
import {
  type CatalogueDeps,
  listVersions,
  readCurrent,
  readVersion,
  type SaveResult,
} from '../catalogue/versions.ts'
import { loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, toTable, warn } from '../server/terminal.ts'
import { namesWith } from '../sources/vendors.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { confirm, isInteractive } from './prompt.ts'

type Json = { json?: true }

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
    .action(runSync)
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
    .action(runImport)
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
    .action(runReview)
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
    .action(runRollback)
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
    .action(showHistory)
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
    .action(showDiff)
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
    .action(exportLists)
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'catalogue export lists.json': 'write a file, to edit it',
      'catalogue export --of 2': 'print version 2',
    },
  })
}

function readId(text: string, what: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`Give the number of a ${what}.`)
}

const readVersionId = (text: string) => readId(text, 'version: see tabbat catalogue history')
const readReviewId = (text: string) => readId(text, 'review: see tabbat catalogue review')
const readTarget = (text: string) => (text === 'shipped' ? text : readVersionId(text))

type ImportOptions = { dryRun?: true; force?: true; json?: true }

const toCatalogueDeps = ({ store, audit }: CommandContext): CatalogueDeps => ({
  table: store.catalogue,
  reviews: store.reviews,
  audit,
  switches: store.sources,
})

const toChangeOptions = ({ force, dryRun }: ImportOptions) => ({
  author: toCommandAuthor(),
  force: force === true,
  dryRun: dryRun === true,
})

async function runSync(name: string, options: ImportOptions): Promise<void> {
  // Before a database is created.
  requireSettings(loadConfig(), name)
  reportChange(
    await withCommandContext((context) =>
      syncVendor(context.config, toCatalogueDeps(context), name, toChangeOptions(options)),
    ),
    options.json,
  )
}

async function runImport(file: string, options: ImportOptions): Promise<void> {
  const content = await readJson(file)
  reportChange(
    await withCommandContext((context) =>
      importLists(toCatalogueDeps(context), content, toChangeOptions(options)),
    ),
    options.json,
  )
}

async function readJson(file: string): Promise<unknown> {
  const reading = file === '-' ? text(process.stdin) : readFile(file, 'utf8')
  const json = await reading.catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`${file} cannot be read (${error.code ?? 'unknown error'}).`)
  })
  try {
    return JSON.parse(json)
  } catch {
    throw new UserError(`${file === '-' ? 'Standard input' : file} is not JSON.`)
  }
}

async function runRollback(target: number | 'shipped' | undefined, { json }: Json): Promise<void> {
  reportChange(
    await withCommandContext(
      (context) => rollBack(toCatalogueDeps(context), target, toCommandAuthor()),
      EXISTING,
    ),
    json,
  )
}

function reportChange({ outcome, id, changes, doubts }: SaveResult, json: true | undefined): void {
  if (json) {
    const database = toDatabaseText(loadConfig())
    sayJson({ database }, { outcome, version: id, changes: changes.map(toPlainChange), doubts })
    return
  }
  if (changes.length > 0) say(`${toTable(toChangeRows(changes))}\n`)
  for (const doubt of doubts) warn(doubt)
  if (outcome === 'unchanged') say(`Nothing has changed. Version ${id} stays active.`)
  else if (outcome === 'changed')
    say(`Version ${id} is active. Running servers switch to it within 5 seconds.`)
  else say(`Nothing was changed (--dry-run). Version ${id} stays active.`)
}

type ReviewOptions = { accept?: number; reject?: number; yes?: true; json?: true }

async function runReview(id: number | undefined, options: ReviewOptions): Promise<void> {
  const { accept, reject } = options
  if (accept !== undefined && reject !== undefined)
    throw new UserError('Give --accept or --reject, not both.')
  if (accept !== undefined) return decide('accept', accept, options)
  if (reject !== undefined) return decide('reject', reject, options)
  return id === undefined ? listReviews(options) : showReview(id, options)
}

function listReviews({ json }: ReviewOptions): Promise<void> {
  return withStore(async ({ store, database }) => {
    const reviews = await store.reviews.list()
    if (json) {
      const plain = reviews.map(({ id, source, at, doubts }) => ({ id, source, at: toTime(at), doubts }))
      return sayJson({ database }, { reviews: plain })
    }
    if (reviews.length === 0) return say('No lists need a review.')
    const rows = reviews.map(({ id, source, at }) => [String(id), source, toTime(at)])
    say(toTable([['review', 'vendor', 'since'], ...rows]))
    for (const { id, doubts } of reviews) for (const doubt of doubts) say(`\n${id}: ${doubt}`)
    say('\nShow one with: tabbat catalogue review ID')
  })
}

function showReview(id: number, { json }: ReviewOptions): Promise<void> {
  return withStore(async ({ store, database }) => {
    const deps = { table: store.catalogue, reviews: store.reviews }
    const { source, at, doubts, changes } = await readReview(deps, id)
    if (json)
      return sayJson(
        { database },
        { id, source, at: toTime(at), doubts, changes: changes.map(toPlainChange) },
      )
    if (changes.length > 0) say(`${toTable(toChangeRows(changes))}\n`)
    for (const doubt of doubts) warn(doubt)
    say(`Decide with: tabbat catalogue review --accept ${id}, or --reject ${id}`)
  })
}

async function decide(verb: 'accept' | 'reject', id: number, options: ReviewOptions): Promise<void> {
  const { yes, json } = options
  // On a terminal, the changes are shown before the question.
  const isShown = !yes && isInteractive()
  if (isShown) await showReview(id, {})
  const question = verb === 'accept' ? 'Activate these lists?' : 'Reject these lists?'
  if (isShown && !(await confirm(question))) throw new UserError('Nothing was changed.')
  if (!yes && !isShown) throw new UserError(`Without a terminal, confirm with --yes to ${verb} review ${id}.`)
  const apply = async (context: CommandContext) => {
    if (verb === 'accept')
      return reportChange(await acceptReview(toCatalogueDeps(context), id, toCommandAuthor()), json)
    await rejectReview(toCatalogueDeps(context), id, toCommandAuthor())
    if (json) return sayJson(context, { outcome: 'rejected', review: id })
    say(`Review ${id} is rejected. The active lists stay, and the same lists are not proposed again.`)
  }
  await withCommandContext(apply, { ...EXISTING, isPrinted: isShown })
}

const toTime = (at: number) => (at === 0 ? '' : `${new Date(at).toISOString().slice(0, 16)}Z`)

function showHistory({ json }: Json): Promise<void> {
  return withStore(async ({ store, database }) => {
    const versions = await listVersions(store.catalogue)
    const syncs = await store.catalogue.listSyncs()
    if (json) {
      const plain = versions.map(({ at, ...version }) => ({ ...version, at: toTime(at) || null }))
      const plainSyncs = syncs.map(({ source, startedAt, outcome }) => ({
        source,
        at: toTime(startedAt),
        outcome: outcome ?? null,
      }))
      sayJson({ database }, { versions: plain, syncs: plainSyncs })
      return
    }
    const active = versions.at(-1)?.id
    const rows = versions.map(({ id, at, origin, author }) => [
      `${id}${id === active ? ' (active)' : ''}`,
      toTime(at),
      toPlain(origin),
      author,
    ])
    say(toTable([['version', 'since', 'from', 'by'], ...rows]))
    if (syncs.length === 0) return
    const lastSyncs = syncs.map((sync) => [
      sync.source,
      toTime(sync.startedAt),
      sync.outcome ?? 'in progress',
    ])
    say(`\n${toTable([['vendor', 'last sync', 'outcome'], ...lastSyncs])}`)
  })
}

function showDiff(from: number | undefined, to: number | undefined, { json }: Json): Promise<void> {
  return withStore(async ({ store }) => {
    const ids = await toPair(store.catalogue, from, to)
    const [before, after] = await Promise.all(ids.map((id) => readVersion(store.catalogue, id)))
    const changes = before && after ? diffFiles(before.files, after.files) : []
    if (json) return say(JSON.stringify(changes.map(toPlainChange)))
    if (changes.length === 0) return say(`Versions ${ids[0]} and ${ids[1]} are equal.`)
    say(toTable(toChangeRows(changes)))
    say(`\nFrom version ${ids[0]} to ${ids[1]}: ${summarise(changes)}.`)
  })
}

async function toPair(
  table: CatalogueTable,
  from: number | undefined,
  to: number | undefined,
): Promise<readonly [number, number]> {
  const versions = await listVersions(table)
  const last = versions.at(-1)?.id ?? 0
  if (from !== undefined) return [from, to ?? last]
  const previous = versions.at(-2)?.id
  if (previous === undefined) throw new UserError('There is only one version: the lists of this release.')
  return [previous, last]
}

async function exportLists(file: string | undefined, { of: version }: { of?: number }): Promise<void> {
  const { files } = await withStore(({ store }) =>
    version === undefined ? readCurrent(store.catalogue) : readVersion(store.catalogue, version),
  )
  const json = JSON.stringify(files, null, 2)
  if (file === undefined || file === '-') return say(json)
  await writeFile(file, `${json}\n`, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new UserError(`${file} exists already. Name another file.`)
    throw new UserError(`${file} cannot be written (${error.code ?? 'unknown error'}).`)
  })
  say(`The lists are in ${file}.`)
}

/** Labels come from vendors: they must not contain control characters, or fill the screen. */
const toPlain = (label: string) => label.replaceAll(/[\p{C}]/gu, ' ').slice(0, 60)

function toChangeRows(changes: readonly Change[]): string[][] {
  const rows = changes.map(({ kind, list, code, name, priceBefore = '', priceAfter = '' }) => [
    CHANGE_WORDS[kind],
    list,
    toPlain(code),
    priceBefore,
    priceAfter,
    toPlain(name),
  ])
  return [['change', 'list', 'code', 'before', 'after', 'name'], ...rows]
}
