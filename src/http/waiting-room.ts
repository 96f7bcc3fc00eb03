import { createWaitingLine, type Waiting, type WaitingLine } from './waiting-line.ts'

export type InFlightLimits = { readonly all: number; readonly perKey: number }

/** The places for requests under way, and a line of waiting requests for each key. Keys take turns. */
export type WaitingRoom = {
  /** Whether a place was free, and is taken now. */
  readonly take: (keyId: string) => boolean
  readonly wait: (keyId: string, waiting: Waiting) => void
  readonly leave: (keyId: string) => void
  readonly waiting: () => number
  /** Gives free places to those that have waited longest. */
  readonly admit: () => void
  /** Refuses at most so many of those that `choose` takes out of their lines. */
  readonly refuse: (count: number, choose: (line: WaitingLine) => Waiting | undefined) => void
}

/** Above this, lines that are not in use are forgotten. */
const MOST_LINES = 10_000

export function createWaitingRoom({ all, perKey }: InFlightLimits, isClosed: () => boolean): WaitingRoom {
  const lines = new Map<string, WaitingLine>()
  /** The lines in which requests wait; the one that was served last stands last. */
  const queues = new Set<WaitingLine>()
  let underWay = 0
  let waiting = 0

  const lineOf = (keyId: string) => {
    const known = lines.get(keyId)
    if (known) return known
    if (lines.size >= MOST_LINES)
      for (const [id, line] of lines) if (line.underWay === 0 && line.size() === 0) lines.delete(id)
    const made = createWaitingLine()
    lines.set(keyId, made)
    return made
  }
  const hasRoom = (line: WaitingLine) => underWay < all && line.underWay < perKey && !isClosed()
  const begin = (line: WaitingLine) => {
    underWay += 1
    line.underWay += 1
  }
  const settle = (line: WaitingLine, next: Waiting, admitted: boolean) => {
    waiting -= 1
    queues.delete(line)
    if (line.size() > 0) queues.add(line)
    if (admitted) begin(line)
    next.settle(admitted)
  }
  /** Callers that left meanwhile are passed over. */
  const admitNext = (): boolean => {
    for (const line of queues) {
      if (!hasRoom(line)) continue
      const next = line.takeOldest() as Waiting
      settle(line, next, !next.isGone())
      return true
    }
    return false
  }
  return {
    take: (keyId) => {
      const line = lineOf(keyId)
      const isFree = hasRoom(line)
      if (isFree) begin(line)
      return isFree
    },
    wait: (keyId, next) => {
      const line = lineOf(keyId)
      line.add(next)
      queues.add(line)
      waiting += 1
    },
    leave: (keyId) => {
      const line = lineOf(keyId)
      underWay -= 1
      line.underWay -= 1
    },
    waiting: () => waiting,
    admit: () => {
      while (waiting > 0 && admitNext());
    },
    refuse: (count, choose) => {
      let left = count
      for (const line of [...queues])
        for (
          let next = left > 0 ? choose(line) : undefined;
          next;
          next = left > 0 ? choose(line) : undefined
        ) {
          left -= 1
          settle(line, next, false)
        }
    },
  }
}
