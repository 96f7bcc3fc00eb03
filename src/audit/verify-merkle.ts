import { hash } from 'node:crypto'

/** A neighbour on the way up from a row to the root, and the side on which it stands. */
export type ProofStep = { readonly side: 'left' | 'right'; readonly hash: string }

const LEAF = 0
const NODE = 1

const leaf = Buffer.alloc(33, LEAF)
const node = Buffer.alloc(65, NODE)

/** A tree that takes hashes one after the other and keeps no more than one node for each level. */
export type Tree = { readonly add: (rowHash: string) => void; readonly root: () => string | undefined }

export function createTree(): Tree {
  /** Roots of full trees, from the largest to the smallest, as the binary digits of the number of leaves. */
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

/** The root to which a path leads; undefined when it is not the path of this place among so many. */
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

/** On which side the neighbour stands, level by level. The last of an odd number has none and moves up. */
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
