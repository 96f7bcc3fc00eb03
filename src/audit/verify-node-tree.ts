import { hash } from 'node:crypto'

const LEAF = 0
const NODE = 1
const HASH_BYTES = 32
const MOST_LEVELS = 64

/** A Merkle tree that takes the nodes of one level from left to right, and holds at most one node for each level above. */
export type NodeTree = {
  /** The hash, as text of one character for each byte. */
  readonly add: (node: string) => void
  /** In hex; undefined when no node was added. */
  readonly root: () => string | undefined
}

export function createNodeTree(): NodeTree {
  /** Roots of full subtrees, largest first, after one byte: two neighbours are hashed where they stand. */
  const stack = Buffer.alloc(1 + MOST_LEVELS * HASH_BYTES)
  let depth = 0
  let count = 0
  const joinLast = () => {
    depth -= 2
    const start = depth * HASH_BYTES
    const replaced = stack[start] as number
    stack[start] = NODE
    const node = hash('sha256', stack.subarray(start, start + 1 + 2 * HASH_BYTES), 'binary')
    stack[start] = replaced
    push(node)
  }
  const push = (node: string) => {
    stack.write(node, 1 + depth * HASH_BYTES, HASH_BYTES, 'latin1')
    depth += 1
  }
  return {
    add: (node) => {
      push(node)
      count += 1
      for (let rest = count; rest % 2 === 0; rest /= 2) joinLast()
    },
    root: () => {
      while (depth > 1) joinLast()
      return depth === 0 ? undefined : stack.toString('hex', 1, 1 + HASH_BYTES)
    },
  }
}

/** The leaf of the row hash at this place. The byte before it is overwritten. */
export function hashLeafInPlace(page: Buffer, at: number): string {
  page[at - 1] = LEAF
  return hash('sha256', page.subarray(at - 1, at + HASH_BYTES), 'binary')
}
