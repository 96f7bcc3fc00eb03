import { auditBy } from '../../audit/audit-by.ts'
import { type ChangeRequest, importLists, rollBack, syncVendor } from '../../catalogue/change.ts'
import { diffFiles, toPlainChange } from '../../catalogue/diff.ts'
import type { CatalogueFolder } from '../../catalogue/folder.ts'
import { readShippedFolder } from '../../catalogue/folder.ts'
import { AwaitsReview } from '../../catalogue/review.ts'
import {
  type CatalogueDeps,
  Implausible,
  listVersions,
  type Outcome,
  readCurrent,
  readVersion,
} from '../../catalogue/versions.ts'
import { AdminError } from '../../contract/admin-error.ts'
import type { CatalogueFiles } from '../../contract/catalogue-files.ts'
import type { Actor } from '../../contract/role.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { AppError } from '../../errors.ts'
import { namesWith, type VendorName } from '../../sources/vendors.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'
import {
  CatalogueDiff,
  type CatalogueList,
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
  summary: 'The lists in force, their versions, and when each vendor was asked last.',
  role: 'viewer',
  output: CatalogueView,
  run: async ({ context: { store, config } }) => {
    const { id, files } = await readCurrent(store.catalogue)
    const versions = await listVersions(store.catalogue)
    const syncs = await store.catalogue.listSyncs()
    const reviews = await store.reviews.list()
    return {
      version: id,
      lists: toLists({ ...files, sme: readShippedFolder().sme }),
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

function toLists({ internet, tv, sme }: CatalogueFolder): Static<typeof CatalogueList>[] {
  const bundles = internet.map(({ segment, as_of, bundles }) => ({
    title: `internet ${segment}`,
    as_of,
    items: bundles.map(({ code, price, description, duration }) => ({
      code,
      name: description.trim(),
      price,
      note: duration,
    })),
  }))
  const television = tv.flatMap(({ type, as_of, products, add_ons }) => [
    {
      title: `tv ${type} products`,
      as_of,
      items: products.map(({ code, name, price }) => ({ code, name, price, note: '' })),
    },
    {
      title: `tv ${type} add-ons`,
      as_of,
      items: add_ons.map(({ code, name, price, products: goWith }) => ({
        code,
        name,
        price,
        note: goWith.join(', '),
      })),
    },
  ])
  const sizes = sme.bundles.map(({ code, description }) => ({ code, name: description, price: '', note: '' }))
  return [...bundles, ...television, { title: 'SME', as_of: sme.as_of, items: sizes }]
}

const diff = defineRoute({
  name: 'diff_catalogue',
  tag,
  method: 'GET',
  path: '/admin/catalogue/diff',
  summary: 'What changed from one version to another.',
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
  summary: 'The lists in force, as an import takes them.',
  role: 'viewer',
  output: Type.Unsafe<CatalogueFiles>({ type: 'object' }),
  run: async ({ context: { store } }) => {
    const { id, files } = await readCurrent(store.catalogue)
    return new WithHeaders(files, ['content-disposition', `attachment; filename="catalogue-${id}.json"`])
  },
})

const bring = defineRoute({
  name: 'import_catalogue',
  tag,
  method: 'POST',
  path: '/admin/catalogue/import',
  summary: 'Put lists in force that were edited or brought from elsewhere.',
  role: 'operator',
  bodyLimit: IMPORT_BYTES,
  input: ImportRequest,
  output: CatalogueOutcome,
  run: (deps, { input, actor }) =>
    change(deps, actor, (catalogueDeps) =>
      importLists(catalogueDeps, input.content, toChangeRequest(input, actor)),
    ),
})

const sync = defineRoute({
  name: 'sync_catalogue',
  tag,
  method: 'POST',
  path: '/admin/catalogue/sync',
  summary: 'Fetch the lists of a vendor and put them in force.',
  role: 'operator',
  input: SyncRequest,
  output: CatalogueOutcome,
  run: (deps, { input, actor }) => {
    const name = readVendor(input.source)
    return change(deps, actor, (catalogueDeps) =>
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
  summary: 'Put an older version in force again, as a new version.',
  role: 'operator',
  input: RollbackRequest,
  output: CatalogueOutcome,
  run: (deps, { input, actor }) =>
    change(deps, actor, (catalogueDeps) => rollBack(catalogueDeps, input.to, actor.name)),
})

export const toCatalogueDeps = (deps: AdminDeps, actor: Actor): CatalogueDeps => {
  const { catalogue, reviews, sources } = deps.context.store
  return { table: catalogue, reviews, audit: auditBy(deps, actor), switches: sources }
}

const toChangeRequest = (
  { dry_run, force }: { readonly dry_run: boolean; readonly force: boolean },
  { name }: Actor,
): ChangeRequest => ({ author: name, force, dryRun: dry_run })

/** This server follows at once, the others within seconds. */
export async function change(
  deps: AdminDeps,
  actor: Actor,
  work: (catalogueDeps: CatalogueDeps) => Promise<Outcome>,
): Promise<CatalogueOutcome> {
  const { outcome, id, changes, doubts } = await work(toCatalogueDeps(deps, actor)).catch(
    (error: unknown) => {
      throw error instanceof Implausible ? toInsist(error) : error
    },
  )
  await deps.context.catalogue.refresh()
  return {
    outcome: outcome === 'would change' ? 'looked' : outcome,
    version: id,
    changes: changes.map(toPlainChange),
    doubts: [...doubts],
  }
}

/** What the command line calls --force. */
const toInsist = (error: Implausible) =>
  new AdminError('refused', {
    message:
      error instanceof AwaitsReview
        ? `${error.doubts.join(' ')} The lists stay as they are, and those of the vendor wait for your decision.`
        : `${error.doubts.join(' ')} The lists stay as they are, unless you insist.`,
  })

export const CATALOGUE_ROUTES: readonly AdminRoute[] = [view, diff, exportLists, bring, sync, rollback]
