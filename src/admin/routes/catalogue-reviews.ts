import { toPlainChange } from '../../catalogue/diff.ts'
import { acceptReview, readReview, rejectReview } from '../../catalogue/review.ts'
import { readCurrent } from '../../catalogue/versions.ts'
import { changeCatalogue, toCatalogueDeps } from '../catalogue-change.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { CatalogueDiff, CatalogueOutcome, ReviewDecision, ReviewQuery } from '../shapes/catalogue.ts'

const tag = 'Catalogue'

const review = defineRoute({
  name: 'view_catalogue_review',
  tag,
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
  tag,
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

export const CATALOGUE_REVIEW_ROUTES: readonly AdminRoute[] = [review, decide]
