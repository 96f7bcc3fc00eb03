import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { buildMerkleTree, computeMerkleRoot, toMerklePath } from '../../src/audit/merkle.ts'
import { climb, climbSides } from '../../src/audit/verify/merkle-tree.ts'

const rows = Array.from({ length: 300 }, (_, index) => hash('sha256', `row ${index}`, 'buffer'))
const sha256 = (...parts: Uint8Array[]) => hash('sha256', Buffer.concat(parts), 'buffer')

/** By the definition: leaves begin with 0, nodes with 1, and a node without a partner moves up. */
function toRoot(level: readonly Buffer[]): Buffer {
  const [first = Buffer.alloc(32)] = level
  if (level.length < 2) return first
  const above = Array.from({ length: Math.ceil(level.length / 2) }, (_, index) => {
    const [left, right] = [level[index * 2] as Buffer, level[index * 2 + 1]]
    return right ? sha256(Buffer.of(1), left, right) : left
  })
  return toRoot(above)
}
const rootOf = (count: number) => toRoot(rows.slice(0, count).map((row) => sha256(Buffer.of(0), row)))

async function* inPages(count: number, size = 70) {
  for (let at = 0; at < count; at += size) yield rows.slice(at, Math.min(at + size, count))
}

const COUNTS = [0, 1, 2, 3, 4, 5, 7, 8, 127, 128, 129, 130, 255, 256, 257, 300]

describe('the root of a tree', () => {
  it('is that of the definition, however its rows arrive', async () => {
    for (const count of COUNTS) {
      expect(await computeMerkleRoot(inPages(count)), `${count} rows`).toEqual(rootOf(count))
      const { root } = await buildMerkleTree(inPages(count))
      expect(root, `${count} rows`).toBe(count === 0 ? undefined : rootOf(count).toString('hex'))
    }
  })
})

describe('the path of a row', () => {
  const toHex = (index: number) => (rows[index] as Buffer).toString('hex')

  it('leads to the root, and is the same from a tree', async () => {
    for (const count of COUNTS.slice(1)) {
      const tree = await buildMerkleTree(inPages(count))
      for (const index of new Set([0, 1, count >> 1, count - 2, count - 1])) {
        if (index < 0 || index >= count) continue
        const path = toMerklePath(rows.slice(0, count), index)
        expect(tree.pathOf(index), `row ${index} of ${count}`).toEqual(path)
        expect(climb(toHex(index), index, count, path), `row ${index} of ${count}`).toBe(tree.root)
        const hashes = path.map(({ hash }) => hash)
        expect(climbSides(toHex(index), index, count, hashes)).toBe(tree.root)
      }
    }
  })

  it('of another shape, for another place or another row does not lead there', () => {
    const count = 11
    const root = rootOf(count).toString('hex')
    const path = toMerklePath(rows.slice(0, count), 4)
    expect(climb(toHex(4), 4, count, path)).toBe(root)
    expect(climb(toHex(5), 4, count, path)).not.toBe(root)
    for (const [index, of] of [
      [5, 11],
      [4, 4],
      [4, 3],
      [-1, 11],
      [11, 11],
      [4, 17],
    ] as const)
      expect(climb(toHex(4), index, of, path), `${index} of ${of}`).toBeUndefined()
    expect(climb(toHex(4), 4, count, path.slice(1))).toBeUndefined()
    expect(climb(toHex(4), 4, count, [...path, ...path.slice(0, 1)])).toBeUndefined()
    for (const [at, step] of path.entries()) {
      const turned = { ...step, side: step.side === 'left' ? 'right' : 'left' } as const
      expect(climb(toHex(4), 4, count, path.with(at, turned))).toBeUndefined()
      expect(climb(toHex(4), 4, count, path.with(at, { ...step, hash: toHex(0) }))).not.toBe(root)
    }
    const hashes = path.map(({ hash }) => hash)
    expect(climbSides(toHex(4), 4, count, hashes.slice(1))).toBeUndefined()
    expect(climbSides(toHex(4), 11, count, hashes)).toBeUndefined()
  })
})
