/** How long one operation of a source is waited for before the next source is asked beside it. */
export type Patience = {
  /** The source answered, successfully or not. */
  readonly answered: () => void
  readonly recordSuccess: (ms: number) => void
  /** From now on; 0 or less when it is over. */
  readonly leftMs: (startedAt: number, isSuspect: boolean) => number
}

/** Enough for a median; few enough to follow a vendor that becomes slower. Not limited in time: some are asked rarely. */
const REMEMBERED = 50
const LEAST_KNOWN = 5

/** A multiple of the median time, within bounds; `unknown` while there are too few answers. */
type Fuse = {
  readonly times: number
  readonly least: number
  readonly most: number
  readonly unknown: number
}
const USUAL: Fuse = { times: 4, least: 1000, most: 4000, unknown: 2000 }
const SUSPECT: Fuse = { times: 1.5, least: 200, most: 1000, unknown: 1000 }
/** A source that is always slow does not hang: otherwise every call of it would be paid twice. */
const ALWAYS_SLOW = 1.5

/**
 * The median, because a source that hangs and then answers late must not teach us to wait. Waiting is lengthened, once, while
 * others get answers: then this one call is slow and not the source, and a second paid call is spared.
 */
export function createPatience(now: () => number = () => performance.now()): Patience {
  const times: number[] = []
  let recorded = 0
  let median: number | undefined
  let answeredAt = Number.NEGATIVE_INFINITY

  const toMs = ({ times: factor, least, most, unknown }: Fuse) =>
    median === undefined ? unknown : Math.min(Math.max(median * factor, least), most)
  return {
    answered: () => {
      answeredAt = now()
    },
    recordSuccess: (ms) => {
      times[recorded % REMEMBERED] = ms
      recorded += 1
      if (recorded >= LEAST_KNOWN) median = times.toSorted((one, other) => one - other)[times.length >> 1]
    },
    leftMs: (startedAt, isSuspect) => {
      if (isSuspect) return startedAt + toMs(SUSPECT) - now()
      const fuse = Math.max(toMs(USUAL), (median ?? 0) * ALWAYS_SLOW)
      return Math.min(Math.max(startedAt, answeredAt) + fuse, startedAt + 2 * fuse) - now()
    },
  }
}
