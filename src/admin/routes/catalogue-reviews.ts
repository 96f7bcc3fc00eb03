import { toPlainChange } from '../../catalogue/diff.ts'
import { acceptReview, readReview, rejectReview } from '../../catalogue/review.ts'
import { readCurrent } from '../../catalogue/versions.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { CatalogueDiff, CatalogueOutcome, ReviewQuery, ReviewWish } from '../shapes/catalogue.ts'
import { change, toShelf } from './catalogue.ts'

const room = 'Catalogue'

const review = defineRoute({
  name: 'view_catalogue_review',
  room,
  method: 'GET',
  path: '/admin/catalogue/review',
  summary: 'What the lists of a vendor that wait for a person would change.',
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
  room,
  method: 'POST',
  path: '/admin/catalogue/review',
  summary: 'Put the lists of a vendor that wait for a person in force, or reject them.',
  role: 'operator',
  input: ReviewWish,
  output: CatalogueOutcome,
  run: async (desk, { input: { id, decision }, person }) => {
    if (decision === 'accept') return change(desk, person, (shelf) => acceptReview(shelf, id, person.name))
    await rejectReview(toShelf(desk, person), id, person.name)
    const { id: version } = await readCurrent(desk.context.store.catalogue)
    return { outcome: 'rejected', version, changes: [], doubts: [] }
  },
})

export const CATALOGUE_REVIEW_ROUTES: readonly AdminRoute[] = [review, decide]
