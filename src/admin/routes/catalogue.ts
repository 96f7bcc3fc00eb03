import { type ChangeRequest, importLists, rollBack, syncVendor } from '../../catalogue/change.ts'
import { diffFiles, toPlainChange } from '../../catalogue/diff.ts'
import { readShippedFolder } from '../../catalogue/folder.ts'
import { listVersions, readCurrent, readVersion } from '../../catalogue/versions.ts'
import type { CatalogueFiles } from '../../contract/catalogue-files.ts'
import type { Actor } from '../../contract/role.ts'
import { Type } from '../../contract/schema.ts'
import { AppError } from '../../errors.ts'
import { namesWith, type VendorName } from '../../sources/vendors.ts'
import { changeCatalogue } from '../catalogue-change.ts'
import { toCatalogueLists } from '../catalogue-lists.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'
import {
  CatalogueDiff,
  CatalogueOutcome,
  CatalogueView,
  DiffQuery,
  ImportRequest,
  RollbackRequest,
  SyncRequest,
} from '../shapes/catalogue.ts'

const tag = 'Catalogue'
const IMPORT_BYTES = 2 * 1024 * 1024

const view = defineRoute({
  name: 'view_catalogue',
  tag,
  method: 'GET',
  path: '/admin/catalogue',
  summary: 'The active lists, their versions, and the last sync of each vendor.',
  role: 'viewer',
  output: CatalogueView,
  run: async ({ context: { store, config } }) => {
    const { id, files } = await readCurrent(store.catalogue)
    const versions = await listVersions(store.catalogue)
    const syncs = await store.catalogue.listSyncs()
    const reviews = await store.reviews.list()
    return {
      version: id,
      lists: toCatalogueLists({ ...files, sme: readShippedFolder().sme }),
      versions: versions
        .map(({ at, origin, author, ...version }) => ({
          id: version.id,
          at: at === 0 ? null : toTime(at),
          origin,
          author,
        }))
        .toReversed(),
      syncs: syncs.map(({ source, startedAt, outcome = null }) => ({
        source,
        at: toTime(startedAt),
        outcome,
      })),
      reviews: reviews.map(({ id: review, source, at, doubts }) => ({
        id: review,
        source,
        at: toTime(at),
        doubts: [...doubts],
      })),
      can_sync: namesWith('catalogue').filter((name) => config.vendors[name]),
    }
  },
})

const toTime = (at: number) => new Date(at).toISOString()

const diff = defineRoute({
  name: 'diff_catalogue',
  tag,
  method: 'GET',
  path: '/admin/catalogue/diff',
  summary: 'The differences between two versions.',
  role: 'viewer',
  input: DiffQuery,
  output: CatalogueDiff,
  run: async ({ context: { store } }, { input }) => {
    const before = await readVersion(store.catalogue, Number(input.from))
    const after = await readVersion(store.catalogue, Number(input.to))
    return { changes: diffFiles(before.files, after.files).map(toPlainChange) }
  },
})

const exportLists = defineRoute({
  name: 'export_catalogue',
  tag,
  method: 'GET',
  path: '/admin/catalogue/export',
  summary: 'The active lists, in the format of an import.',
  role: 'viewer',
  output: Type.Unsafe<CatalogueFiles>({ type: 'object' }),
  run: async ({ context: { store } }) => {
    const { id, files } = await readCurrent(store.catalogue)
    return new WithHeaders(files, ['content-disposition', `attachment; filename="catalogue-${id}.json"`])
  },
})

const importRoute = defineRoute({
  name: 'import_catalogue',
  tag,
  method: 'POST',
  path: '/admin/catalogue/import',
  summary: 'Import lists and activate them.',
  role: 'operator',
  bodyLimit: IMPORT_BYTES,
  input: ImportRequest,
  output: CatalogueOutcome,
  run: (deps, { input, actor }) =>
    changeCatalogue(deps, actor, (catalogueDeps) =>
      importLists(catalogueDeps, input.content, toChangeRequest(input, actor)),
    ),
})

const sync = defineRoute({
  name: 'sync_catalogue',
  tag,
  method: 'POST',
  path: '/admin/catalogue/sync',
  summary: 'Fetch the lists of a vendor and activate them.',
  role: 'operator',
  input: SyncRequest,
  output: CatalogueOutcome,
  run: (deps, { input, actor }) => {
    const name = readVendor(input.source)
    return changeCatalogue(deps, actor, (catalogueDeps) =>
      syncVendor(deps.context.config, catalogueDeps, name, toChangeRequest(input, actor)),
    )
  },
})

function readVendor(source: string): VendorName {
  const name = namesWith('catalogue').find((known) => known === source)
  if (name) return name
  const rule = `source must be one of ${namesWith('catalogue').join(', ')}`
  throw new AppError('validation_failed', { errors: { source: [rule] } })
}

const rollback = defineRoute({
  name: 'roll_back_catalogue',
  tag,
  method: 'POST',
  path: '/admin/catalogue/rollback',
  summary: 'Activate an older version again, as a new version.',
  role: 'operator',
  input: RollbackRequest,
  output: CatalogueOutcome,
  run: (deps, { input, actor }) =>
    changeCatalogue(deps, actor, (catalogueDeps) => rollBack(catalogueDeps, input.to, actor.name)),
})

const toChangeRequest = (
  { dry_run, force }: { readonly dry_run: boolean; readonly force: boolean },
  { name }: Actor,
): ChangeRequest => ({ author: name, force, dryRun: dry_run })

export const CATALOGUE_ROUTES: readonly AdminRoute[] = [view, diff, exportLists, importRoute, sync, rollback]
