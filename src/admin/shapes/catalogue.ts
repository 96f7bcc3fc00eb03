import { type Static, Type } from '../../contract/schema.ts'
import { strict, Time } from './fields.ts'

const Item = Type.Object({
  code: Type.String(),
  name: Type.String(),
  /** In naira. */
  price: Type.String(),
  /** Bundles: the duration. Add-ons: the products they belong to. */
  note: Type.String(),
})
export const CatalogueList = Type.Object({
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
export const DiffQuery = Type.Object(
  { from: Type.String({ pattern: '^[0-9]{1,9}$' }), to: Type.String({ pattern: '^[0-9]{1,9}$' }) },
  strict,
)
export const CatalogueDiff = Type.Object({ changes: Type.Array(CatalogueChange) })

export const ReviewQuery = Type.Object({ id: Type.String({ pattern: '^[0-9]{1,9}$' }) }, strict)
export const ReviewDecision = Type.Object(
  {
    id: Type.Integer({ minimum: 1, maximum: 999_999_999 }),
    decision: Type.Enum(['accept', 'reject'] as const),
  },
  strict,
)

/** `content` is the output of `tabbat catalogue export`, or one list of it. */
export const ImportRequest = Type.Object(
  { content: Type.Unsafe<unknown>({}), dry_run: Type.Boolean(), force: Type.Boolean() },
  strict,
)
export const SyncRequest = Type.Object(
  { source: Type.String({ maxLength: 40 }), dry_run: Type.Boolean(), force: Type.Boolean() },
  strict,
)
export const RollbackRequest = Type.Object({ to: Type.Integer({ minimum: 1, maximum: 999_999_999 }) }, strict)
export const CatalogueOutcome = Type.Object({
  /** changed, unchanged, rejected (a review), or dry_run. */
  outcome: Type.String(),
  version: Type.Integer(),
  changes: Type.Array(CatalogueChange),
  doubts: Type.Array(Type.String()),
})
export type CatalogueOutcome = Static<typeof CatalogueOutcome>
