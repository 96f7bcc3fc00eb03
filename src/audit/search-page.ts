import type { ScanPosition } from './reverse-scan.ts'

/** One step of a search: the position that was reached, and what was found there. */
export type SearchStep<T> = { readonly found: T | undefined; readonly position: ScanPosition }

export type SearchPage<T> = {
  /** Newest first. */
  readonly found: readonly T[]
  /** Where the next page begins; undefined at the end. */
  readonly next: ScanPosition | undefined
  /** The search stopped early, at the limit of rows or of time. */
  readonly isCut: boolean
  /** Rows that were read. */
  readonly looked: number
}

export type SearchLimits = {
  /** Results of a page. */
  readonly page: number
  /** Rows that one search reads. */
  readonly looks: number
  /** A subject or a consent with more rows than this is searched by a scan instead of the index. */
  readonly indexed: number
  /** The time of the request is over. */
  readonly isOver?: () => boolean
}

export const SEARCH_LIMITS: SearchLimits = { page: 50, looks: 20_000, indexed: 5000 }

/** The first results of a search, within its limits. */
export async function collectPage<T>(
  steps: AsyncIterable<SearchStep<T>>,
  { page, looks, isOver = () => false }: SearchLimits,
): Promise<SearchPage<T>> {
  const found: T[] = []
  let looked = 0
  let last: ScanPosition | undefined
  for await (const step of steps) {
    // Only now it is known that there are more rows.
    if (found.length === page || looked === looks || (last && isOver()))
      return { found, next: last, isCut: found.length < page, looked }
    if (step.found !== undefined) found.push(step.found)
    looked += 1
    last = step.position
  }
  return { found, next: undefined, isCut: false, looked }
}
