import { hash } from 'node:crypto'

/** Leaves and nodes are hashed with different first bytes, so that a node can never pass for a leaf. */
const LEAF = Buffer.from([0])
const NODE = Buffer.from([1])

const PAIRS_AT_ONCE = 256

export type Step = { readonly side: 'left' | 'right'; readonly hash: string }

/** The root over these hashes. A node without a partner moves up as it is. */
export function toMerkleRoot(hashes: readonly Uint8Array[]): Buffer {
  let level = hashes.map(toLeaf)
  while (level.length > 1) level = toParents(level)
  return level[0] ?? Buffer.alloc(32)
}

/** The same, without holding the event loop up: thousands of rows are hashed a few hundred at a time. */
export async function growMerkleRoot(pages: AsyncIterable<readonly Uint8Array[]>): Promise<Buffer> {
  let level: Buffer[] = []
  for await (const page of pages) {
    level.push(...page.map(toLeaf))
    await new Promise((done) => setImmediate(done))
  }
  while (level.length > 1) {
    const above: Buffer[] = []
    for (let at = 0; at < level.length; at += PAIRS_AT_ONCE * 2) {
      above.push(...toParents(level.slice(at, at + PAIRS_AT_ONCE * 2)))
      await new Promise((done) => setImmediate(done))
    }
    level = above
  }
  return level[0] ?? Buffer.alloc(32)
}

/** The way from one hash up to the root. */
export function toMerklePath(hashes: readonly Uint8Array[], index: number): Step[] {
  const path: Step[] = []
  let level = hashes.map(toLeaf)
  let at = index
  while (level.length > 1) {
    const partner = level[at ^ 1]
    if (partner) path.push({ side: at % 2 === 0 ? 'right' : 'left', hash: partner.toString('hex') })
    level = toParents(level)
    at >>= 1
  }
  return path
}

const toLeaf = (bytes: Uint8Array): Buffer => hash('sha256', Buffer.concat([LEAF, bytes]), 'buffer')

const toParents = (level: readonly Buffer[]): Buffer[] =>
  Array.from({ length: Math.ceil(level.length / 2) }, (_each, index) => {
    const [left, right] = [level[index * 2] as Buffer, level[index * 2 + 1]]
    return right ? hash('sha256', Buffer.concat([NODE, left, right]), 'buffer') : left
  })
