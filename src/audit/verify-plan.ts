import type { SignedHead } from './open-checkpoint.ts'
import type { Segment } from './verify-segments.ts'

/** Rows of a chain for one thread, without the hash before them. */
export type PlannedStretch = {
  readonly chain: string
  readonly after: number
  readonly segments: readonly Segment[]
}

/** Divides a chain into stretches. A Merkle root can be put together from parts only at a power of two. */
export type StretchPlan = {
  /** The sequence up to which rows are planned. */
  readonly planned: () => number
  /** Plans rows without a root. */
  readonly addRows: (upTo: number) => PlannedStretch[]
  /** Plans the rows that a checkpoint covers; they must follow those that are planned. */
  readonly addHead: (head: SignedHead) => PlannedStretch[]
  /** What is planned, but not enough for a stretch. */
  readonly flush: () => PlannedStretch[]
}

const PART_ROWS = 2 ** 16

export function createStretchPlan(chain: string, partRows = PART_ROWS): StretchPlan {
  let after = 0
  let planned = 0
  let segments: Segment[] = []
  const flush = () => {
    if (segments.length === 0) return []
    const stretch = { chain, after, segments }
    after = planned
    segments = []
    return [stretch]
  }
  const add = (upTo: number, hasRoot: boolean) => {
    const full: PlannedStretch[] = []
    while (planned < upTo) {
      planned = Math.min(planned + partRows, upTo)
      segments.push({ upTo: planned, hasRoot })
      if (planned - after >= partRows) full.push(...flush())
    }
    return full
  }
  return {
    planned: () => planned,
    addRows: (upTo) => add(upTo, false),
    addHead: (head) => add(head.sequence, true),
    flush,
  }
}
