import { hash } from 'node:crypto'

/** A neighbour on the path from a row to the root, and its side. */
export type ProofStep = { readonly side: 'left' | 'right'; readonly hash: string }

const LEAF = 0
const NODE = 1

const leaf = Buffer.alloc(33, LEAF)
const node = Buffer.alloc(65, NODE)

/** A Merkle tree that takes hashes from left to right, and holds at most one node for each level. */
export type Tree = {
  /** The hash of a row: in hex, or as text of one character for each byte (latin1). */
  readonly add: (rowHash: string, encoding?: 'hex' | 'latin1') => void
  /** In hex, the root over as many rows as each part before had; only in a tree without rows of its own. */
  readonly addPart: (root: string) => void
  /** In hex; undefined when nothing was added. The tree is then of no use. */
  readonly root: () => string | undefined
}

const HASH_BYTES = 32
const MAX_LEVELS = 64

export function createTree(): Tree {
  /**
   * Roots of full subtrees, largest first, like the binary digits of the count. One byte stands before them, so that two
   * neighbours are hashed where they stand.
   */
  const roots = Buffer.alloc(1 + MAX_LEVELS * HASH_BYTES)
  let depth = 0
  let count = 0
  const push = (hashed: string, encoding: 'hex' | 'latin1') => {
    roots.write(hashed, 1 + depth * HASH_BYTES, HASH_BYTES, encoding)
    depth += 1
  }
  const joinLast = () => {
    depth -= 2
    const start = depth * HASH_BYTES
    const replaced = roots[start] as number
    roots[start] = NODE
    const joined = hash('sha256', roots.subarray(start, start + 1 + 2 * HASH_BYTES), 'binary')
    roots[start] = replaced
    push(joined, 'latin1')
  }
  const add = (hashed: string, encoding: 'hex' | 'latin1') => {
    push(hashed, encoding)
    count += 1
    for (let rest = count; rest % 2 === 0; rest /= 2) joinLast()
  }
  return {
    add: (rowHash, encoding = 'hex') => {
      leaf.write(rowHash, 1, encoding)
      add(hash('sha256', leaf, 'binary'), 'latin1')
    },
    addPart: (root) => add(root, 'hex'),
    root: () => {
      while (depth > 1) joinLast()
      return depth === 0 ? undefined : roots.toString('hex', 1, 1 + HASH_BYTES)
    },
  }
}

/** The root that a path leads to; undefined when its shape does not match this index and count. */
export function climb(
  rowHash: string,
  index: number,
  count: number,
  path: readonly ProofStep[],
): string | undefined {
  const sides = listSides(index, count)
  if (index < 0 || index >= count) return undefined
  if (sides.length !== path.length || path.some(({ side }, at) => side !== sides[at])) return undefined
  return path.reduce(
    (below, step) => (step.side === 'left' ? hashNode(step.hash, below) : hashNode(below, step.hash)),
    hashLeaf(rowHash),
  )
}

/** The same for a path without sides: they follow from the index and the count. */
export function climbSides(
  rowHash: string,
  index: number,
  count: number,
  hashes: readonly string[],
): string | undefined {
  const sides = listSides(index, count)
  if (sides.length !== hashes.length) return undefined
  return climb(
    rowHash,
    index,
    count,
    hashes.map((hash, at) => ({ hash, side: sides[at] as ProofStep['side'] })),
  )
}

/** The side of the neighbour on each level. The last node of an odd level has none and moves up. */
function listSides(index: number, count: number): ProofStep['side'][] {
  const sides: ProofStep['side'][] = []
  let last = count - 1
  for (let at = index; last > 0; at = Math.floor(at / 2)) {
    if (at % 2 === 1) sides.push('left')
    else if (at < last) sides.push('right')
    last = Math.floor(last / 2)
  }
  return sides
}

function hashLeaf(rowHash: string): string {
  leaf.write(rowHash, 1, 'hex')
  return hash('sha256', leaf, 'hex')
}

function hashNode(left: string, right: string): string {
  node.write(left, 1, 'hex')
  node.write(right, 33, 'hex')
  return hash('sha256', node, 'hex')
}
