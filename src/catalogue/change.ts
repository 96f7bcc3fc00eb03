import type { CatalogueFiles } from '../contract/bundles.ts'
import { UserError } from '../errors.ts'
import { openVendor } from '../sources/open-vendor.ts'
import type { SourceSettings } from '../sources/settings.ts'
import { SourceError } from '../sources/source.ts'
import { SOURCE_PROBLEMS } from '../sources/source-problem.ts'
import type { Vendor } from '../sources/vendors.ts'
import type { CatalogueTable } from './catalogue-table.ts'
import { mergeFiles, parseFiles, parseList, refuseUnclean } from './content.ts'
import { type SyncRequest, syncCatalogue } from './sync.ts'
import {
  type CatalogueDeps,
  listVersions,
  readCurrent,
  readShipped,
  readVersion,
  type SaveResult,
  saveVersion,
} from './versions.ts'

export type ChangeRequest = Omit<SyncRequest, 'signal'>

/** Fetches the lists of a vendor that is in the settings. */
export async function syncVendor(
  config: Pick<SourceSettings, 'vendors' | 'knownVendors' | 'sourcesPrivate'>,
  deps: CatalogueDeps,
  name: string,
  request: ChangeRequest,
): Promise<SaveResult> {
  requireSettings(config, name)
  const { vendors, sourcesPrivate } = config
  const source = await openVendor(name, { vendors, allowPrivate: sourcesPrivate === 'on' })
  try {
    return await syncCatalogue(deps, source, request)
  } catch (error) {
    throw error instanceof SourceError ? fetchError(error) : error
  } finally {
    await source.close?.()
  }
}

export function requireSettings(
  { vendors, knownVendors }: Pick<SourceSettings, 'vendors' | 'knownVendors'>,
  name: string,
): void {
  if (!vendors[name])
    throw new UserError(`${name} is not set up: set ${listRequired(knownVendors.get(name))}.`)
}

const listRequired = (vendor: Vendor | undefined) =>
  Object.values(vendor?.settings ?? {})
    .filter((setting) => setting.required)
    .map(({ env }) => env)
    .join(' and ')

/** A vendor's own text is not repeated. */
function fetchError({ source, reason, problem }: SourceError): UserError {
  const advice = problem === undefined ? '' : ` ${SOURCE_PROBLEMS[problem]}`
  return new UserError(
    `The lists of ${source} could not be fetched (${reason}).${advice} Nothing was changed.`,
  )
}

/** Activates imported lists. */
export async function importLists(
  deps: CatalogueDeps,
  content: unknown,
  request: ChangeRequest,
): Promise<SaveResult> {
  const current = await readCurrent(deps.table)
  const files = toFiles(current.files, content)
  return saveVersion(deps, current, { ...request, files, origin: 'import' })
}

/** The whole catalogue, or one list that replaces the list of the same name. */
function toFiles(current: CatalogueFiles, content: unknown): CatalogueFiles {
  const isObject = typeof content === 'object' && content !== null
  if (isObject && ('internet' in content || 'tv' in content)) return toClean(parseFiles(content))
  if (isObject && 'bundles' in content && !('segment' in content))
    throw new UserError('This looks like the SME list, which is fixed by the API and cannot be imported.')
  if (isObject && ('segment' in content || 'type' in content))
    return mergeFiles(current, toClean(parseList(content)))
  throw new UserError(
    'The file holds no lists: it must be an object with "internet" and "tv", or one list with "segment" or "type".',
  )
}

function toClean(files: CatalogueFiles): CatalogueFiles {
  refuseUnclean(files)
  return files
}

/** Activates an older version again, as a new version. Default: the version before. */
export async function rollBack(
  deps: CatalogueDeps,
  target: number | 'shipped' | undefined,
  author: string,
): Promise<SaveResult> {
  const current = await readCurrent(deps.table)
  const id = target ?? (await findPrevious(deps.table))
  const files = id === 'shipped' ? readShipped() : (await readVersion(deps.table, id)).files
  const origin = id === 'shipped' ? 'shipped' : `rollback of ${id}`
  // The caller chose this version, so doubts do not count.
  return saveVersion(deps, current, { files, origin, author, force: true })
}

async function findPrevious(table: CatalogueTable): Promise<number> {
  const previous = (await listVersions(table)).at(-2)
  if (!previous) throw new UserError('There is no older version: the shipped lists are active.')
  return previous.id
}
