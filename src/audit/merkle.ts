import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Leaves and nodes are hashed with different first bytes, so that a node is never taken for a leaf. */
const LEAF = 0
const NODE = 1
const HASH_BYTES = 32
/** One buffer for all inputs: a checkpoint hashes tens of thousands of rows. */
const scratch = Buffer.alloc(1 + 2 * HASH_BYTES)

/** The part of it that a leaf uses. */
const leafInput = scratch.subarray(0, 1 + HASH_BYTES)

const PAIRS_AT_ONCE = 64

export type Step = { readonly side: 'left' | 'right'; readonly hash: string }

/**
 * The root over these hashes. A node without a partner moves up unchanged. Thousands of rows are hashed a few hundred at a
 * time, so that the event loop is not blocked. A level is one buffer, in which the next one replaces it.
 */
export async function computeMerkleRoot(pages: AsyncIterable<readonly Uint8Array[]>): Promise<Buffer> {
  const leaves: Buffer[] = []
  for await (const page of pages) {
    leaves.push(hashLeaves(page))
    await nextTurn()
  }
  const level = Buffer.concat(leaves)
  let count = level.length / HASH_BYTES
  while (count > 1) count = await replaceLevel(level, count)
  return count === 1 ? level.subarray(0, HASH_BYTES) : Buffer.alloc(HASH_BYTES)
}

function hashLeaves(rows: readonly Uint8Array[]): Buffer {
  const leaves = Buffer.alloc(rows.length * HASH_BYTES)
  for (const [index, row] of rows.entries()) {
    scratch[0] = LEAF
    scratch.set(row, 1)
    writeHash(leaves, index, leafInput)
  }
  return leaves
}

/** Returns how many nodes the level above has. */
async function replaceLevel(level: Buffer, count: number): Promise<number> {
  const pairs = count >> 1
  for (let index = 0; index < pairs; index++) {
    scratch[0] = NODE
    scratch.set(level.subarray(index * 2 * HASH_BYTES, (index + 1) * 2 * HASH_BYTES), 1)
    writeHash(level, index, scratch)
    if (index % PAIRS_AT_ONCE === PAIRS_AT_ONCE - 1) await nextTurn()
  }
  if (count % 2 === 1) level.copyWithin(pairs * HASH_BYTES, (count - 1) * HASH_BYTES, count * HASH_BYTES)
  return count - pairs
}

/** Through a string: allocating a native buffer costs more than the hash. */
const writeHash = (hashes: Buffer, index: number, input: Buffer) =>
  hashes.write(hash('sha256', input, 'binary'), index * HASH_BYTES, 'latin1')

async function climbLevel(level: readonly Buffer[]): Promise<Buffer[]> {
  const above: Buffer[] = []
  for (let at = 0; at < level.length; at += PAIRS_AT_ONCE * 2) {
    above.push(...toParents(level.slice(at, at + PAIRS_AT_ONCE * 2)))
    await nextTurn()
  }
  return above
}

/** The neighbours of one hash on each level up to the root. */
export function toMerklePath(hashes: readonly Uint8Array[], index: number): Step[] {
  const path: Step[] = []
  let level = hashes.map(toLeaf)
  for (let at = index; level.length > 1; at >>= 1) {
    path.push(...toStep(level, at))
    level = toParents(level)
  }
  return path
}

function toLeaf(bytes: Uint8Array): Buffer {
  scratch[0] = LEAF
  scratch.set(bytes, 1)
  return toHash(1 + bytes.length)
}

function toNode(left: Buffer, right: Buffer): Buffer {
  scratch[0] = NODE
  scratch.set(left, 1)
  scratch.set(right, 1 + HASH_BYTES)
  return toHash(scratch.length)
}

/** Through a string: allocating a native buffer costs more than the hash. */
const toHash = (length: number) =>
  Buffer.from(hash('sha256', scratch.subarray(0, length), 'binary'), 'binary')

const toParents = (level: readonly Buffer[]): Buffer[] =>
  Array.from({ length: Math.ceil(level.length / 2) }, (_each, index) => {
    const [left, right] = [level[index * 2] as Buffer, level[index * 2 + 1]]
    return right ? toNode(left, right) : left
  })

/** All levels of a tree, for the paths of many leaves. */
export type MerkleTree = {
  /** In hex. */
  readonly root: string | undefined
  readonly pathOf: (index: number) => Step[]
}

/** Like `computeMerkleRoot`, it does not block the event loop. */
export async function buildMerkleTree(pages: AsyncIterable<readonly Uint8Array[]>): Promise<MerkleTree> {
  let level: Buffer[] = []
  for await (const page of pages) level.push(...page.map(toLeaf))
  const levels = [level]
  while (level.length > 1) {
    level = await climbLevel(level)
    levels.push(level)
  }
  return {
    root: level[0]?.toString('hex'),
    pathOf: (index) => levels.flatMap((each, height) => toStep(each, index >> height)),
  }
}

/** Nothing where a node has no partner, as the root. */
function toStep(level: readonly Buffer[], at: number): Step[] {
  const partner = level[at ^ 1]
  return partner ? [{ side: at % 2 === 0 ? 'right' : 'left', hash: partner.toString('hex') }] : []
}
