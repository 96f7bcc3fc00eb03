import type { Heads } from '../../ledger/queue-heads.ts'
import type { QueueClass, QueueHead } from '../../ledger/queue-rows.ts'

/** What is taken at once: up to `each` verifications of every one of these keys. */
type Take = QueueClass & { readonly keys: readonly string[]; readonly each: number }

/** The turns of the keys in one lane. */
type Turns = {
  /** The key that had the last turn: the next place is for the key after it. */
  readonly after: () => string
  /**
   * Shares free places among the keys with due work: one place for each key in the order of the heads, and as many more for all
   * of them as places are left. `mayBegin` says how many of a class the sources can answer now.
   */
  readonly share: (
    found: Pick<Heads, 'heads'> & Partial<Heads>,
    free: number,
    mayBegin: (wanted: QueueClass) => number,
  ) => Take[]
}

export function createTurns(): Turns {
  let last = ''
  /** Of the keys that were found elsewhere: they have turns of their own, so that the walk over all keys goes on. */
  let lastElsewhere = ''
  /** Of keys with work of several classes, which of them had the last turn: they take turns too. */
  const lastClasses = new Map<string, string>()
  const toOrder = (head: QueueHead) => (lastClasses.get(head.lineage) === toName(head) ? 1 : 0)
  const takeTurn = (ofKey: readonly QueueHead[]) => {
    const [head] = ofKey.toSorted((one, other) => toOrder(one) - toOrder(other) || one.dueMs - other.dueMs)
    if (!head) return undefined
    if (ofKey.length > 1) lastClasses.set(head.lineage, toName(head))
    else lastClasses.delete(head.lineage)
    return head
  }
  return {
    after: () => last,
    share: ({ heads, isPart = false, elsewhere = [] }, free, mayBegin) => {
      const room = new Map<string, number>()
      const readRoom = (head: QueueHead) => room.get(toName(head)) ?? mayBegin(head)
      /** Returns the key of the last place. */
      const takeInTurn = (found: readonly QueueHead[], taken: QueueHead[]): string | undefined => {
        const due = found.filter(({ dueMs }) => dueMs <= 0)
        const before = taken.length
        for (const ofKey of Map.groupBy(due, ({ lineage }) => lineage).values()) {
          if (taken.length >= free) break
          const head = takeTurn(ofKey.filter((each) => readRoom(each) > 0))
          if (!head) continue
          room.set(toName(head), readRoom(head) - 1)
          taken.push(head)
        }
        return taken.length > before ? taken.at(-1)?.lineage : undefined
      }
      const taken: QueueHead[] = []
      last = takeInTurn(heads, taken) ?? last
      if (taken.length < free && isPart) {
        // All that may begin among these keys has a place, so the next ones are looked at.
        last = heads.at(-1)?.lineage ?? last
        const inTurn = Object.groupBy(elsewhere, ({ lineage }) =>
          lineage > lastElsewhere ? 'after' : 'upTo',
        )
        lastElsewhere = takeInTurn([...(inTurn.after ?? []), ...(inTurn.upTo ?? [])], taken) ?? lastElsewhere
      }
      return toTakes(taken, free, mayBegin)
    },
  }
}

function toTakes(
  taken: readonly QueueHead[],
  free: number,
  mayBegin: (wanted: QueueClass) => number,
): Take[] {
  const each = Math.floor(free / Math.max(taken.length, 1))
  const classes = Map.groupBy(taken, toName).values().toArray()
  return classes.map((ofClass) => {
    const { lane, mode, operation } = ofClass[0] as QueueHead
    const most = Math.floor(mayBegin({ lane, mode, operation }) / ofClass.length)
    const keys = ofClass.map(({ lineage }) => lineage)
    return { lane, mode, operation, keys, each: Math.max(1, Math.min(each, most)) }
  })
}

const toName = ({ mode, operation }: QueueClass) => `${mode} ${operation}`
