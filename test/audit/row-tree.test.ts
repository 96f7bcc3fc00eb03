import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { computeMerkleRoot } from '../../src/audit/merkle.ts'
import { createLanes, LEAVES_AT_ONCE } from '../../src/audit/verify-lanes.ts'
import { createRowTree } from '../../src/audit/verify-row-tree.ts'

const lanes = createLanes()
const MOST = 3 * LEAVES_AT_ONCE + 5
const hashes = Array.from({ length: MOST }, (_, index) => hash('sha256', `row ${index}`, 'buffer'))
const page = new DataView(Uint8Array.from(Buffer.concat(hashes)).buffer)

function toRoot(count: number, withLanes: boolean): string | undefined {
  const tree = createRowTree(withLanes ? lanes : undefined)
  for (let row = 0; row < count; row++) tree.add(page, row * 32)
  return tree.root()
}

/** The root as the writer computes it. */
async function toWriterRoot(count: number): Promise<string> {
  const root = await computeMerkleRoot(
    (async function* () {
      yield hashes.slice(0, count)
    })(),
  )
  return root.toString('hex')
}

const COUNTS = [1, 2, 3, 4, 255, 256, 257, 258, 511, 512, 513, 767, 768, 769, MOST]

it('computes the root of the writer, with and without lanes', async () => {
  for (const count of COUNTS) {
    const wanted = await toWriterRoot(count)
    expect(toRoot(count, false), `${count} rows, node:crypto`).toBe(wanted)
    expect(toRoot(count, true), `${count} rows, lanes`).toBe(wanted)
  }
})

it('has no root without rows', () => {
  expect(toRoot(0, true)).toBeUndefined()
  expect(toRoot(0, false)).toBeUndefined()
})

it('starts anew after a tree that was given up', async () => {
  const givenUp = createRowTree(lanes)
  givenUp.add(page, 64)
  expect(toRoot(300, true)).toBe(await toWriterRoot(300))
})

it('any bit of any row changes the root', () => {
  if (!lanes) return
  const root = toRoot(LEAVES_AT_ONCE, true)
  for (let row = 0; row < LEAVES_AT_ONCE; row++) {
    const at = row * 32 + (row % 32)
    page.setUint8(at, page.getUint8(at) ^ (1 << (row % 8)))
    expect(toRoot(LEAVES_AT_ONCE, true), `row ${row}`).not.toBe(root)
    page.setUint8(at, page.getUint8(at) ^ (1 << (row % 8)))
  }
  expect(toRoot(LEAVES_AT_ONCE, true)).toBe(root)
})
