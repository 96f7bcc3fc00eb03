import { hash } from 'node:crypto'
import type { CatalogueFiles } from '../contract/catalogue-files.ts'
import { UserError } from '../errors.ts'
import type { Raised, ReviewHead, ReviewTable } from '../store/review-table.ts'
import { mergeFiles, parseFiles, toContent } from './content.ts'
import { type Change, diffFiles } from './diff.ts'
import { type CatalogueDeps, Implausible, type Outcome, readCurrent, saveVersion } from './versions.ts'

/** Lists of a vendor that are stored for a person to decide, or were rejected by one. Nothing has changed. */
export class AwaitsReview extends Implausible {
  override readonly name = 'AwaitsReview'
  readonly raised: Raised

  constructor(doubts: readonly string[], raised: Raised) {
    const { id, state } = raised
    super(
      doubts,
      state === 'rejected'
        ? `These lists were rejected as review ${id}. The lists stay as they are.`
        : `The lists stay as they are; these wait for your decision: tabbat catalogue review ${id}`,
    )
    this.raised = raised
  }
}

/** Stores what the vendor sent. All of its lists wait together: half of a wrong answer is not trusted either. */
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

/** Dates do not count: the same lists come with a new one every day. */
function toFingerprint({ internet, tv }: CatalogueFiles): string {
  const withoutDate = ({ as_of: _, ...list }: { readonly as_of: string }) => list
  return hash('sha256', JSON.stringify([internet.map(withoutDate), tv.map(withoutDate)]))
}

export type Review = ReviewHead & { readonly files: CatalogueFiles; readonly changes: readonly Change[] }

/** A proposal, and what it would change in the lists of now. */
export async function readReview(
  desk: Pick<CatalogueDeps, 'table' | 'reviews'>,
  id: number,
): Promise<Review> {
  const row = await desk.reviews.find(id)
  if (!row) throw new UserError(`There is no review ${id} to decide. See: tabbat catalogue review`)
  const { content, ...head } = row
  const files = parseFiles(JSON.parse(content))
  const current = await readCurrent(desk.table)
  return { ...head, files, changes: diffFiles(current.files, mergeFiles(current.files, files)) }
}

/** Puts the proposed lists in force. Interrupted before the end it may be done again: then nothing is different any more. */
export async function acceptReview(desk: CatalogueDeps, id: number, author: string): Promise<Outcome> {
  const { source, files } = await readReview(desk, id)
  const current = await readCurrent(desk.table)
  await desk.audit.record([
    { phase: 'catalogue_reviewed', outcome: 'accepted', detail: `review ${id} of ${source}` },
  ])
  const merged = mergeFiles(current.files, files)
  const wish = { files: merged, origin: source, author, force: true, ignoreDates: true }
  const outcome = await saveVersion(desk, current, wish)
  await desk.reviews.decide({ id, state: 'accepted', at: Date.now(), by: author })
  return outcome
}

/** The same lists are not proposed again. */
export async function rejectReview(desk: CatalogueDeps, id: number, author: string): Promise<void> {
  const { source } = await readReview(desk, id)
  await desk.audit.record([
    { phase: 'catalogue_reviewed', outcome: 'rejected', detail: `review ${id} of ${source}` },
  ])
  if (!(await desk.reviews.decide({ id, state: 'rejected', at: Date.now(), by: author })))
    throw new UserError(`Review ${id} was decided meanwhile. See: tabbat catalogue history`)
}
