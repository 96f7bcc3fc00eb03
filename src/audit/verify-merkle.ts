import { hash } from 'node:crypto'

/** A neighbour on the path from a row to the root, and its side. */
export type ProofStep = { readonly side: 'left' | 'right'; readonly hash: string }

const LEAF = 0
const NODE = 1

const leaf = Buffer.alloc(33, LEAF)
const node = Buffer.alloc(65, NODE)

/** A Merkle tree that takes hashes one by one and holds at most one node for each level. */
type Tree = { readonly add: (rowHash: string) => void; readonly root: () => string | undefined }

export function createTree(): Tree {
  /** Roots of full subtrees, largest first, like the binary digits of the number of leaves. */
  const roots: string[] = []
  let leaves = 0
  const joinLast = () => {
    const right = roots.pop() ?? ''
    const left = roots.pop() ?? ''
    roots.push(hashNode(left, right))
  }
  return {
    add: (rowHash) => {
      roots.push(hashLeaf(rowHash))
      leaves += 1
      for (let rest = leaves; rest % 2 === 0; rest /= 2) joinLast()
    },
    root: () => {
      while (roots.length > 1) joinLast()
      return roots[0]
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
