import { toPlainChange } from '../catalogue/diff.ts'
import { acceptReview, readReview, rejectReview } from '../catalogue/review.ts'
import { toCommandAuthor } from '../contract/command-author.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, toTable, warn } from '../server/terminal.ts'
import { report, toCatalogueDeps } from './catalogue-change.ts'
import { toChangeRows, toTime } from './catalogue-show.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import { confirm, isInteractive } from './prompt.ts'

export type ReviewOptions = { accept?: number; reject?: number; yes?: true; json?: true }

export async function runReview(id: number | undefined, options: ReviewOptions): Promise<void> {
  const { accept, reject } = options
  if (accept !== undefined && reject !== undefined)
    throw new UserError('Give --accept or --reject, not both.')
  if (accept !== undefined) return decide('accept', accept, options)
  if (reject !== undefined) return decide('reject', reject, options)
  return id === undefined ? listReviews(options) : showReview(id, options)
}

function listReviews({ json }: ReviewOptions): Promise<void> {
  return withStore(async ({ store, database }) => {
    const reviews = await store.reviews.list()
    if (json) {
      const plain = reviews.map(({ id, source, at, doubts }) => ({ id, source, at: toTime(at), doubts }))
      return sayJson({ database }, { reviews: plain })
    }
    if (reviews.length === 0) return say('No lists need a review.')
    const rows = reviews.map(({ id, source, at }) => [String(id), source, toTime(at)])
    say(toTable([['review', 'vendor', 'since'], ...rows]))
    for (const { id, doubts } of reviews) for (const doubt of doubts) say(`\n${id}: ${doubt}`)
    say('\nShow one with: tabbat catalogue review ID')
  })
}

function showReview(id: number, { json }: ReviewOptions): Promise<void> {
  return withStore(async ({ store, database }) => {
    const deps = { table: store.catalogue, reviews: store.reviews }
    const { source, at, doubts, changes } = await readReview(deps, id)
    if (json)
      return sayJson(
        { database },
        { id, source, at: toTime(at), doubts, changes: changes.map(toPlainChange) },
      )
    if (changes.length > 0) say(`${toTable(toChangeRows(changes))}\n`)
    for (const doubt of doubts) warn(doubt)
    say(`Decide with: tabbat catalogue review --accept ${id}, or --reject ${id}`)
  })
}

async function decide(verb: 'accept' | 'reject', id: number, options: ReviewOptions): Promise<void> {
  const { yes, json } = options
  // On a terminal, the changes are shown before the question.
  const isShown = !yes && isInteractive()
  if (isShown) await showReview(id, {})
  const question = verb === 'accept' ? 'Activate these lists?' : 'Reject these lists?'
  if (isShown && !(await confirm(question))) throw new UserError('Nothing was changed.')
  if (!yes && !isShown) throw new UserError(`Without a terminal, confirm with --yes to ${verb} review ${id}.`)
  const apply = async (context: CommandContext) => {
    if (verb === 'accept')
      return report(await acceptReview(toCatalogueDeps(context), id, toCommandAuthor()), json)
    await rejectReview(toCatalogueDeps(context), id, toCommandAuthor())
    if (json) return sayJson(context, { outcome: 'rejected', review: id })
    say(`Review ${id} is rejected. The active lists stay, and the same lists are not proposed again.`)
  }
  await withCommandContext(apply, { ...EXISTING, isPrinted: isShown })
}
