import type { SourceProblem } from './source-problem.ts'

/** What a search has found out, also if it fails. The next search for the same verification goes on from it. */
export type Seen = {
  /** A source does not have the number with this phone and these names. */
  hasMiss: boolean
  /** A source has a record of the number, with another phone. */
  hasRecord: boolean
  /** A source called the number blocked. */
  isWatchlisted: boolean
  /** The last source that answered about the person with what cannot be released: see `isUnusable`. */
  unusable: Unusable | undefined
  /** Vendors that have answered. They are not asked again while there are others. */
  missedBy: readonly string[]
}

type Unusable = { readonly source: string; readonly problem: SourceProblem }

const UNUSABLE = ['names_differ', 'no_phone', 'unreadable_phone', 'mixed_phones'] as const

/** Whether the source has answered about the person: its names differ, or its phones cannot be compared. */
export const isUnusable = (problem: SourceProblem | undefined): problem is (typeof UNUSABLE)[number] =>
  UNUSABLE.some((unusable) => unusable === problem)

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
