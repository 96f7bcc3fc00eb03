import { say, sayJson, toTable, warn } from '../app/terminal.ts'
import { toPlainChange } from '../catalogue/diff.ts'
import { acceptReview, readReview, rejectReview } from '../catalogue/review.ts'
import { UserError } from '../errors.ts'
import { AUTHOR, report, toDesk } from './catalogue-change.ts'
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
    if (reviews.length === 0) return say('No lists wait for a review.')
    const rows = reviews.map(({ id, source, at }) => [String(id), source, toTime(at)])
    say(toTable([['review', 'vendor', 'since'], ...rows]))
    for (const { id, doubts } of reviews) for (const doubt of doubts) say(`\n${id}: ${doubt}`)
    say('\nLook at one with: tabbat catalogue review ID')
  })
}

function showReview(id: number, { json }: ReviewOptions): Promise<void> {
  return withStore(async ({ store, database }) => {
    const desk = { table: store.catalogue, reviews: store.reviews }
    const { source, at, doubts, changes } = await readReview(desk, id)
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
  // A person sees what they decide about; a program says --yes.
  const isShown = !yes && isInteractive()
  if (isShown) await showReview(id, {})
  const question = verb === 'accept' ? 'Put these lists in force?' : 'Reject these lists?'
  if (isShown && !(await confirm(question))) throw new UserError('Nothing was changed.')
  if (!yes && !isShown)
    throw new UserError(
      `This is not a terminal, where you could be asked. Give --yes to ${verb} review ${id}.`,
    )
  const decideIn = async (office: CommandContext) => {
    if (verb === 'accept') return report(await acceptReview(toDesk(office), id, AUTHOR), json)
    await rejectReview(toDesk(office), id, AUTHOR)
    if (json) return sayJson(office, { outcome: 'rejected', review: id })
    say(`Review ${id} is rejected; the lists stay as they are, and the same ones are not proposed again.`)
  }
  await withCommandContext(decideIn, { ...EXISTING, isTold: isShown })
}
