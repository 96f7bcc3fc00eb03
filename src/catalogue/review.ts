import { hash } from 'node:crypto'
import type { CatalogueFiles } from '../contract/bundles.ts'
import { DAY_MS } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { mergeFiles, parseFiles, toContent } from './content.ts'
import { type Change, diffFiles } from './diff.ts'
import type { Raised, ReviewHead, ReviewTable } from './review-table.ts'
import { type CatalogueDeps, Implausible, readCurrent, type SaveResult, saveVersion } from './versions.ts'

/** The lists of a vendor wait for a review, or were rejected by one. Nothing has changed. */
export class AwaitsReview extends Implausible {
  override readonly name = 'AwaitsReview'
  readonly raised: Raised

  constructor(doubts: readonly string[], raised: Raised) {
    const { id, state } = raised
    super(
      doubts,
      state === 'rejected'
        ? `These lists were rejected as review ${id}. The lists stay unchanged.`
        : `The lists stay unchanged. Accept or reject the new lists: tabbat catalogue review ${id}`,
    )
    this.raised = raised
  }
}

/** Stores a vendor's lists for review. All of them wait, also those without doubts: the reply as a whole is not trusted. */
export async function raiseReview(
  reviews: ReviewTable,
  source: string,
  files: CatalogueFiles,
  doubts: readonly string[],
): Promise<AwaitsReview> {
  const { content } = toContent(files)
  const fingerprint = toFingerprint(files)
  return new AwaitsReview(
    doubts,
    await reviews.raise({ source, at: Date.now(), fingerprint, doubts, content }),
  )
}

const WITHDRAWN_KEPT_MS = 90 * DAY_MS

/** Deletes some of the proposals that were withdrawn long ago. Rejected ones stay, so that they are not proposed again. */
export const deleteExpiredReviews = (reviews: ReviewTable, now: number): Promise<number> =>
  reviews.deleteExpired(now - WITHDRAWN_KEPT_MS)

/** Without dates: the same lists have a new date every day. */
function toFingerprint({ internet, tv }: CatalogueFiles): string {
  const withoutDate = ({ as_of: _, ...list }: { readonly as_of: string }) => list
  return hash('sha256', JSON.stringify([internet.map(withoutDate), tv.map(withoutDate)]))
}

export type Review = ReviewHead & { readonly files: CatalogueFiles; readonly changes: readonly Change[] }

/** A review, and what it would change in the active lists. */
export async function readReview(
  deps: Pick<CatalogueDeps, 'table' | 'reviews'>,
  id: number,
): Promise<Review> {
  const row = await deps.reviews.find(id)
  if (!row) throw new UserError(`There is no open review ${id}. See: tabbat catalogue review`)
  const { content, ...head } = row
  const files = parseFiles(JSON.parse(content))
  const current = await readCurrent(deps.table)
  return { ...head, files, changes: diffFiles(current.files, mergeFiles(current.files, files)) }
}

/** Activates the proposed lists. After an interruption it can be repeated: the second run changes nothing. */
export async function acceptReview(deps: CatalogueDeps, id: number, author: string): Promise<SaveResult> {
  const { source, files } = await readReview(deps, id)
  const current = await readCurrent(deps.table)
  await deps.audit.record([
    { phase: 'catalogue_reviewed', outcome: 'accepted', detail: `review ${id} of ${source}` },
  ])
  const merged = mergeFiles(current.files, files)
  const request = { files: merged, origin: source, author, force: true, ignoreDates: true }
  const outcome = await saveVersion(deps, current, request)
  await deps.reviews.decide({ id, state: 'accepted', at: Date.now(), by: author })
  return outcome
}

/** The same lists are not proposed again. */
export async function rejectReview(deps: CatalogueDeps, id: number, author: string): Promise<void> {
  const { source } = await readReview(deps, id)
  await deps.audit.record([
    { phase: 'catalogue_reviewed', outcome: 'rejected', detail: `review ${id} of ${source}` },
  ])
  if (!(await deps.reviews.decide({ id, state: 'rejected', at: Date.now(), by: author })))
    throw new UserError(`Review ${id} was decided meanwhile. See: tabbat catalogue history`)
}
