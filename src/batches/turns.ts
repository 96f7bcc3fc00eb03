/** Pieces of long work, one at a time. */
export type Turns = {
  /** Waits for a turn. Lineages of keys take turns, and the pieces of each are done in the order in which they came. */
  readonly take: <T>(lineage: string, work: () => Promise<T>) => Promise<T>
}

/**
 * One piece in a turn of the event loop, however many callers wait: what others ask of this process is done between two pieces. A
 * piece on SQLite never waits, so without this, one long download is all that a process does.
 */
export function createTurns(): Turns {
  /** The lineage whose turn it is stands first; a served one goes to the end. */
  const waiting = new Map<string, (() => void)[]>()
  let isTaken = false
  const passOn = () => {
    const [first] = waiting
    if (first === undefined) {
      isTaken = false
      return
    }
    const [lineage, queue] = first
    waiting.delete(lineage)
    const next = queue.shift()
    if (queue.length > 0) waiting.set(lineage, queue)
    next?.()
  }
  const wait = (lineage: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const queue = waiting.get(lineage)
    if (queue) queue.push(resolve)
    else waiting.set(lineage, [resolve])
    return promise
  }
  return {
    take: async (lineage, work) => {
      if (isTaken) await wait(lineage)
      isTaken = true
      try {
        return await work()
      } finally {
        setImmediate(passOn)
      }
    },
  }
}
