import type { SignedHead } from './open-checkpoint.ts'
import { createTree } from './verify-merkle.ts'
import { ZERO_HASH } from './verify-row.ts'
import type { CheckedSegment, Segment } from './verify-segments.ts'

/** Puts the checked segments of a chain together, in order, and compares them with what checkpoints say. */
export type ChainProgress = {
  readonly expect: (head: SignedHead) => void
  /** False when the segment contradicts a checkpoint. */
  readonly add: (segment: Segment, checked: CheckedSegment) => boolean
  /** The hash of the last row so far. */
  readonly hash: () => string
}

export function createChainProgress(): ChainProgress {
  const expected: SignedHead[] = []
  let parts: string[] = []
  let last = ZERO_HASH
  return {
    expect: (head) => void expected.push(head),
    hash: () => last,
    add: ({ upTo, hasRoot }, { hash, root }) => {
      last = hash
      if (!hasRoot || root === undefined) return !hasRoot
      parts.push(root)
      const [head] = expected
      if (!head || upTo > head.sequence) return false
      if (upTo < head.sequence) return true
      expected.shift()
      const whole = joinParts(parts)
      parts = []
      return head.hash === hash && head.root === whole
    },
  }
}

function joinParts(parts: readonly string[]): string | undefined {
  const tree = createTree()
  for (const part of parts) tree.addPart(part)
  return tree.root()
}
