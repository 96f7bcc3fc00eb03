import { hash } from 'node:crypto'
import { type Lanes, LEAVES_AT_ONCE } from './verify-lanes.ts'
import { createNodeTree } from './verify-node-tree.ts'

/** The Merkle tree over the hashes of consecutive rows. */
export type RowTree = {
  /** Takes the row hash at this place. */
  readonly add: (page: DataView, at: number) => void
  /** In hex; undefined when no row was added. The tree is then of no use. */
  readonly root: () => string | undefined
}

const HASH_BYTES = 32

/** One tree at a time uses the lanes. Without them every leaf and node is hashed by node:crypto. */
export function createRowTree(lanes: Lanes | undefined): RowTree {
  const tree = createNodeTree()
  // The byte before the row hash says that it is a leaf.
  const leaf = Buffer.alloc(1 + HASH_BYTES)
  const addLeaf = (rowHash: string) => {
    leaf.write(rowHash, 1, 'latin1')
    tree.add(hash('sha256', leaf, 'binary'))
  }
  lanes?.clear()
  return {
    add: (page, at) => {
      if (!lanes) return addLeaf(readHash(page, at))
      lanes.put(page, at)
      if (lanes.count() < LEAVES_AT_ONCE) return
      const roots = lanes.take()
      for (const root of roots) tree.add(root, LEAVES_AT_ONCE / roots.length)
    },
    root: () => {
      for (let index = 0; index < (lanes?.count() ?? 0); index++) addLeaf(lanes?.read(index) ?? '')
      return tree.root()
    },
  }
}

const readHash = ({ buffer, byteOffset }: DataView, at: number) =>
  Buffer.from(buffer, byteOffset + at, HASH_BYTES).toString('latin1')
