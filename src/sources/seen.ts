import type { SourceProblem } from './source-problem.ts'

/** What a search has found out, also if it fails. The next search for the same verification goes on from it. */
export type Seen = {
  /** A source does not have the number with this phone and these names. */
  hasMiss: boolean
  /** A source has a record of the number, with another phone. */
  hasRecord: boolean
  /** A source called the number blocked. */
  isWatchlisted: boolean
  /** A source answered about the person, and nothing can be released: the names differ, or the phones cannot be compared. */
  unusable: Unusable | undefined
  /** Sources that were paid for such an answer. They are not asked again. */
  missedBy: readonly string[]
}

type Unusable = { readonly source: string; readonly problem: SourceProblem }

export const createSeen = (): Seen => ({
  hasMiss: false,
  hasRecord: false,
  isWatchlisted: false,
  unusable: undefined,
  missedBy: [],
})

/** Whether the next search is to know it. */
export const isWorthKeeping = ({ isWatchlisted, missedBy }: Seen): boolean =>
  isWatchlisted || missedBy.length > 0

export function addSeen(to: Seen, from: Readonly<Seen>): void {
  to.hasMiss ||= from.hasMiss
  to.hasRecord ||= from.hasRecord
  to.isWatchlisted ||= from.isWatchlisted
  to.unusable ??= from.unusable
  to.missedBy = [...new Set([...to.missedBy, ...from.missedBy])]
}
