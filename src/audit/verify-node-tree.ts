import { hash } from 'node:crypto'

const NODE = 1
const HASH_BYTES = 32
const MOST_LEVELS = 64

/** A Merkle tree that takes its nodes from left to right, and holds at most one node for each level above. */
type NodeTree = {
  /**
   * The hash, as text of one character for each byte, and how many leaves it covers: a power of two that divides the number of
   * those before.
   */
  readonly add: (node: string, leaves?: number) => void
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
    add: (node, leaves = 1) => {
      push(node)
      count += leaves
      for (let rest = count / leaves; rest % 2 === 0; rest /= 2) joinLast()
    },
    root: () => {
      while (depth > 1) joinLast()
      return depth === 0 ? undefined : stack.toString('hex', 1, 1 + HASH_BYTES)
    },
  }
}
