/** Requests of one key that wait for a place, in the order of their arrival. */
export type Waiting = {
  readonly since: number
  readonly isGone: () => boolean
  /** True: it may begin. False: it is refused. */
  readonly settle: (admitted: boolean) => void
}

/** Those that have waited long enough to be refused stand apart from those that have not. */
export type WaitingLine = {
  underWay: number
  readonly size: () => number
  readonly add: (waiting: Waiting) => void
  /** The one that has waited longest. */
  readonly takeOldest: () => Waiting | undefined
  /** Of those that came between these times, the one that came last. */
  readonly takeNewest: (from: number, to: number) => Waiting | undefined
  readonly oldestSince: () => number
}

export function createWaitingLine(): WaitingLine {
  const overdue = createQueue()
  const recent = createQueue()
  const age = (time: number) => {
    for (let next = recent.peek(); next && next.since <= time; next = recent.peek())
      overdue.push(recent.shift() as Waiting)
  }
  return {
    underWay: 0,
    size: () => overdue.size() + recent.size(),
    add: recent.push,
    takeOldest: () => overdue.shift() ?? recent.shift(),
    takeNewest: (from, to) => {
      age(to)
      const newest = overdue.peekLast()
      return newest && newest.since >= from ? overdue.pop() : undefined
    },
    oldestSince: () => (overdue.peek() ?? recent.peek())?.since ?? Number.POSITIVE_INFINITY,
  }
}

/** Taken from at both ends; an array would move all its members at each shift. */
function createQueue() {
  let items: (Waiting | undefined)[] = []
  let head = 0
  const tidy = () => {
    if (head < items.length && head < 1024) return
    items = items.slice(head)
    head = 0
  }
  return {
    size: () => items.length - head,
    peek: () => items[head],
    peekLast: () => (items.length > head ? items.at(-1) : undefined),
    push: (item: Waiting) => void items.push(item),
    pop: () => (items.length > head ? items.pop() : undefined),
    shift: () => {
      if (head >= items.length) return undefined
      const item = items[head]
      items[head] = undefined
      head += 1
      tidy()
      return item
    },
  }
}
