import { isSameHead } from '../checkpoint-verifier.ts'
import type { SignedHead } from '../open-checkpoint.ts'
import { createTree } from '../verify-merkle.ts'

/** Compares the rows of a chain, as they are read in order, with what checkpoints say about it. */
export type HeadChecks = {
  /** Takes the next row hash. Returns the first head that it contradicts. */
  readonly add: (hash: string) => SignedHead | undefined
  /** A head that covers rows which did not come. */
  readonly findUnmet: () => SignedHead | undefined
  /** The last row that a head covers. */
  readonly signed: () => number
}

type OpenHead = { readonly head: SignedHead; readonly tree: ReturnType<typeof createTree> }

/** Each different head once, by the row that it begins after. */
export function createHeadChecks(heads: readonly SignedHead[]): HeadChecks {
  const waiting = heads.toSorted((one, other) => other.from - one.from)
  let open: OpenHead[] = []
  let sequence = 0
  let signed = 0
  return {
    add: (hash) => {
      for (let next = waiting.at(-1); next?.from === sequence; next = waiting.at(-1)) {
        waiting.pop()
        open.push({ head: next, tree: createTree() })
      }
      sequence += 1
      for (const { tree } of open) tree.add(hash)
      const ended = open.filter(({ head }) => head.sequence === sequence)
      if (ended.length === 0) return undefined
      open = open.filter(({ head }) => head.sequence > sequence)
      signed = sequence
      return ended.find(({ head, tree }) => head.hash !== hash || head.root !== tree.root())?.head
    },
    findUnmet: () => open[0]?.head ?? waiting.at(-1),
    signed: () => signed,
  }
}

/** The different heads of each chain. Checkpoints repeat the head of a chain that has no new rows. */
export function collectHeads(known: Map<string, SignedHead[]>, heads: readonly SignedHead[]): void {
  for (const head of heads) {
    const list = known.get(head.chain) ?? []
    if (list.slice(-LOOK_BACK).some((each) => isSameHead(each, head))) continue
    list.push(head)
    known.set(head.chain, list)
  }
}

/** Two nodes may sign at the same time, so that their checkpoints alternate. */
const LOOK_BACK = 8
