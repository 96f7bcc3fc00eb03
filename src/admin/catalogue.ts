import { auditBy } from '../audit/audit-log.ts'
import { type CatalogueFolder, readShippedFolder } from '../catalogue/catalogue.ts'
import { type ChangeRequest, importLists, rollBack, syncVendor } from '../catalogue/change.ts'
import { diffFiles, toPlainChange } from '../catalogue/diff.ts'
import { AwaitsReview, acceptReview, readReview, rejectReview } from '../catalogue/review.ts'
import {
  type CatalogueDeps,
  Implausible,
  listVersions,
  readCurrent,
  readVersion,
  type SaveResult,
} from '../catalogue/versions.ts'
import type { CatalogueFiles } from '../contract/bundles.ts'
import { AdminError } from '../contract/error.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { namesWith } from '../sources/vendors.ts'
import type { AdminDeps } from './admin-deps.ts'
import { strict, Time } from './fields.ts'
import { type AdminRoute, defineRoute, WithHeaders } from './route.ts'

const Item = Type.Object({
  code: Type.String(),
  name: Type.String(),
  /** In naira. */
  price: Type.String(),
  /** Bundles: the duration. Add-ons: the products they belong to. */
  note: Type.String(),
})
const CatalogueList = Type.Object({
  /** For example: internet smile, tv DSTV products, tv DSTV add-ons, SME. */
  title: Type.String(),
  as_of: Type.String(),
  items: Type.Array(Item),
})
const CatalogueVersion = Type.Object({
  id: Type.Integer(),
  at: Type.Nullable(Time),
  origin: Type.String(),
  author: Type.String(),
})
export const CatalogueView = Type.Object({
  version: Type.Integer(),
  lists: Type.Array(CatalogueList),
  /** Newest first. */
  versions: Type.Array(CatalogueVersion),
  syncs: Type.Array(Type.Object({ source: Type.String(), at: Time, outcome: Type.Nullable(Type.String()) })),
  /** Lists of vendors that failed the plausibility check and wait for a decision. */
  reviews: Type.Array(
    Type.Object({ id: Type.Integer(), source: Type.String(), at: Time, doubts: Type.Array(Type.String()) }),
  ),
  /** Vendors with settings whose lists can be fetched. */
  can_sync: Type.Array(Type.String()),
})
export type CatalogueView = Static<typeof CatalogueView>

export const CatalogueChange = Type.Object({
  change: Type.String(),
  list: Type.String(),
  code: Type.String(),
  name: Type.String(),
  price_before: Type.Nullable(Type.String()),
  price_after: Type.Nullable(Type.String()),
})
const DiffQuery = Type.Object(
  { from: Type.String({ pattern: '^[0-9]{1,9}$' }), to: Type.String({ pattern: '^[0-9]{1,9}$' }) },
  strict,
)
export const CatalogueDiff = Type.Object({ changes: Type.Array(CatalogueChange) })

const ReviewQuery = Type.Object({ id: Type.String({ pattern: '^[0-9]{1,9}$' }) }, strict)
const ReviewDecision = Type.Object(
  {
    id: Type.Integer({ minimum: 1, maximum: 999_999_999 }),
    decision: Type.Enum(['accept', 'reject'] as const),
  },
  strict,
)

/** `content` is the output of `tabbat catalogue export`, or one list of it. */
const ImportRequest = Type.Object(
  { content: Type.Unsafe<unknown>({}), dry_run: Type.Boolean(), force: Type.Boolean() },
  strict,
)
const SyncRequest = Type.Object(
  { source: Type.String({ maxLength: 40 }), dry_run: Type.Boolean(), force: Type.Boolean() },
  strict,
)
const RollbackRequest = Type.Object({ to: Type.Integer({ minimum: 1, maximum: 999_999_999 }) }, strict)
export const CatalogueOutcome = Type.Object({
  /** changed, unchanged, rejected (a review), or dry_run. */
  outcome: Type.String(),
  version: Type.Integer(),
  changes: Type.Array(CatalogueChange),
  doubts: Type.Array(Type.String()),
})
export type CatalogueOutcome = Static<typeof CatalogueOutcome>

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

function readVendor(source: string): string {
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

/** The lists of the catalogue as the console shows them. */
function toCatalogueLists({ internet, tv, sme }: CatalogueFolder): Static<typeof CatalogueList>[] {
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
      items: add_ons.map(({ code, name, price, products: baseProducts }) => ({
        code,
        name,
        price,
        note: baseProducts.join(', '),
      })),
    },
  ])
  const sizes = sme.bundles.map(({ code, description }) => ({ code, name: description, price: '', note: '' }))
  return [...bundles, ...television, { title: 'SME', as_of: sme.as_of, items: sizes }]
}

/** Makes a change and reloads the lists of this server. Other servers follow within seconds. */
async function changeCatalogue(
  deps: AdminDeps,
  actor: Actor,
  work: (catalogueDeps: CatalogueDeps) => Promise<SaveResult>,
): Promise<CatalogueOutcome> {
  const { outcome, id, changes, doubts } = await work(toCatalogueDeps(deps, actor)).catch(
    (error: unknown) => {
      throw error instanceof Implausible ? implausibleError(error) : error
    },
  )
  await deps.context.catalogue.refresh()
  return {
    outcome: outcome === 'would change' ? 'dry_run' : outcome,
    version: id,
    changes: changes.map(toPlainChange),
    doubts: [...doubts],
  }
}

/** Like the message of the command line, without its `--force`. */
const implausibleError = (error: Implausible) =>
  new AdminError('refused', {
    message:
      error instanceof AwaitsReview
        ? `${error.doubts.join(' ')} The active lists are unchanged. The lists of the vendor wait for review on the page Catalogue.`
        : `${error.doubts.join(' ')} The active lists are unchanged. Repeat with force to activate them anyway.`,
  })

const toCatalogueDeps = (deps: AdminDeps, actor: Actor): CatalogueDeps => {
  const { catalogue, reviews, sources } = deps.context.store
  return { table: catalogue, reviews, audit: auditBy(deps, actor), switches: sources }
}

const review = defineRoute({
  name: 'view_catalogue_review',
  tag: 'Catalogue',
  method: 'GET',
  path: '/admin/catalogue/review',
  summary: 'What the lists of a vendor that wait for review would change.',
  role: 'viewer',
  input: ReviewQuery,
  output: CatalogueDiff,
  run: async ({ context: { store } }, { input }) => {
    const { changes } = await readReview({ table: store.catalogue, reviews: store.reviews }, Number(input.id))
    return { changes: changes.map(toPlainChange) }
  },
})

const decide = defineRoute({
  name: 'decide_catalogue_review',
  tag: 'Catalogue',
  method: 'POST',
  path: '/admin/catalogue/review',
  summary: 'Activate or reject the lists of a vendor that wait for review.',
  role: 'operator',
  input: ReviewDecision,
  output: CatalogueOutcome,
  run: async (deps, { input: { id, decision }, actor }) => {
    if (decision === 'accept')
      return changeCatalogue(deps, actor, (catalogueDeps) => acceptReview(catalogueDeps, id, actor.name))
    await rejectReview(toCatalogueDeps(deps, actor), id, actor.name)
    const { id: version } = await readCurrent(deps.context.store.catalogue)
    return { outcome: 'rejected', version, changes: [], doubts: [] }
  },
})

export const CATALOGUE_ROUTES: readonly AdminRoute[] = [
  view,
  diff,
  exportLists,
  importRoute,
  sync,
  rollback,
  review,
  decide,
]
