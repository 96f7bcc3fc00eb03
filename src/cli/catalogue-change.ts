import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { mergeFiles, parseFiles, parseList } from '../catalogue/content.ts'
import type { CatalogueFiles } from '../catalogue/file.ts'
import { syncCatalogue } from '../catalogue/sync.ts'
import {
  type CatalogueDesk,
  listVersions,
  type Outcome,
  readCurrent,
  readShipped,
  readVersion,
  saveVersion,
} from '../catalogue/versions.ts'
import { loadConfig } from '../config.ts'
import { Refusal } from '../errors.ts'
import { openVendor } from '../sources/index.ts'
import { SourceError } from '../sources/source.ts'
import { TROUBLES } from '../sources/trouble.ts'
import { VENDORS, type VendorName } from '../sources/vendors.ts'
import { toChangeRows, toPlainChange } from './catalogue-show.ts'
import { EXISTING, type Office, withOffice } from './office.ts'
import { say, toTable, warn } from './terminal.ts'

export type ImportOptions = { dryRun?: true; force?: true; json?: true }
export type SyncOptions = ImportOptions

const AUTHOR = 'command line'

const toDesk = ({ store, audit }: Office): CatalogueDesk => ({
  table: store.catalogue,
  audit,
  switches: store.sources,
})

export async function runSync(name: VendorName, { dryRun, force, json }: SyncOptions): Promise<void> {
  const { vendors, sourcesPrivate } = loadConfig()
  if (!vendors[name]) throw new Refusal(`${name} is not set up: set ${listRequired(name)}.`)
  const source = await openVendor(name, { vendors, allowPrivate: sourcesPrivate === 'on' })
  try {
    const wish = { author: AUTHOR, force: force === true, dryRun: dryRun === true }
    report(await withOffice((office) => syncCatalogue(toDesk(office), source, wish)), json)
  } catch (error) {
    throw error instanceof SourceError ? toRefusal(error) : error
  } finally {
    await source.close?.()
  }
}

const listRequired = (name: VendorName) =>
  Object.values(VENDORS[name].settings)
    .filter((setting) => 'required' in setting && setting.required)
    .map(({ env }) => env)
    .join(' and ')

/** Our words for what happened: a vendor's own are not repeated. */
function toRefusal({ source, reason, trouble }: SourceError): Refusal {
  const advice = trouble === undefined ? '' : ` ${TROUBLES[trouble]}`
  return new Refusal(`The lists of ${source} could not be fetched (${reason}).${advice} Nothing was changed.`)
}

export async function runImport(file: string, { dryRun, force, json }: ImportOptions): Promise<void> {
  const content = await readJson(file)
  const outcome = await withOffice(async (office) => {
    const current = await readCurrent(office.store.catalogue)
    return saveVersion(toDesk(office), current, {
      files: toFiles(current.files, content),
      origin: 'import',
      author: AUTHOR,
      force: force === true,
      dryRun: dryRun === true,
    })
  })
  report(outcome, json)
}

/** The whole catalogue, or one list that takes the place of its namesake. */
function toFiles(current: CatalogueFiles, content: unknown): CatalogueFiles {
  const isObject = typeof content === 'object' && content !== null
  if (isObject && ('internet' in content || 'tv' in content)) return parseFiles(content)
  if (isObject && 'bundles' in content && !('segment' in content))
    throw new Refusal('This looks like the SME list, which is fixed by the API and cannot be imported.')
  if (isObject && ('segment' in content || 'type' in content)) return mergeFiles(current, parseList(content))
  throw new Refusal(
    'The file holds no lists: it must be an object with "internet" and "tv", or one list with "segment" or "type".',
  )
}

async function readJson(file: string): Promise<unknown> {
  const given = file === '-' ? text(process.stdin) : readFile(file, 'utf8')
  const json = await given.catch((error: NodeJS.ErrnoException) => {
    throw new Refusal(`${file} cannot be read (${error.code ?? 'unknown error'}).`)
  })
  try {
    return JSON.parse(json)
  } catch {
    throw new Refusal(`${file === '-' ? 'Standard input' : file} is not JSON.`)
  }
}

export async function runRollback(
  target: number | 'shipped' | undefined,
  { json }: { json?: true },
): Promise<void> {
  const outcome = await withOffice(async (office) => {
    const { catalogue } = office.store
    const current = await readCurrent(catalogue)
    const id = target ?? (await findPrevious(office))
    const files = id === 'shipped' ? readShipped() : (await readVersion(catalogue, id)).files
    const origin = id === 'shipped' ? 'shipped' : `rollback of ${id}`
    // Whoever names a version means it.
    return saveVersion(toDesk(office), current, { files, origin, author: AUTHOR, force: true })
  }, EXISTING)
  report(outcome, json)
}

async function findPrevious({ store }: Office): Promise<number> {
  const previous = (await listVersions(store.catalogue)).at(-2)
  if (!previous) throw new Refusal('There is no older version: the lists are those that shipped.')
  return previous.id
}

function report({ outcome, id, changes, doubts }: Outcome, json: true | undefined): void {
  if (json) {
    say(JSON.stringify({ outcome, version: id, changes: changes.map(toPlainChange), doubts }))
    return
  }
  if (changes.length > 0) say(`${toTable(toChangeRows(changes))}\n`)
  for (const doubt of doubts) warn(doubt)
  if (outcome === 'unchanged') say(`Nothing has changed; version ${id} stays in force.`)
  else if (outcome === 'changed') say(`Version ${id} is in force; running servers switch within 5 seconds.`)
  else say(`This was only a look; version ${id} stays in force.`)
}
