import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { computeMerkleRoot } from '../../src/audit/merkle.ts'
import { createTree } from '../../src/audit/verify/merkle-tree.ts'

const MAX_ROWS = 773
const hashes = Array.from({ length: MAX_ROWS }, (_, index) => hash('sha256', `row ${index}`, 'buffer'))

function toRoot(rows: readonly Buffer[], encoding: 'hex' | 'latin1'): string | undefined {
  const tree = createTree()
  for (const row of rows) tree.add(row.toString(encoding), encoding)
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

const COUNTS = [1, 2, 3, 4, 255, 256, 257, 258, 511, 512, 513, 767, 768, 769, MAX_ROWS]

it('computes the root of the writer, from hex and from bytes', async () => {
  for (const count of COUNTS) {
    const wanted = await toWriterRoot(count)
    expect(toRoot(hashes.slice(0, count), 'hex'), `${count} rows, hex`).toBe(wanted)
    expect(toRoot(hashes.slice(0, count), 'latin1'), `${count} rows, latin1`).toBe(wanted)
  }
})

it('puts the root together from parts of equal size, of which the last may be smaller', async () => {
  for (const count of COUNTS) {
    const tree = createTree()
    for (let from = 0; from < count; from += 64)
      tree.addPart(toRoot(hashes.slice(from, Math.min(from + 64, count)), 'hex') as string)
    expect(tree.root(), `${count} rows`).toBe(await toWriterRoot(count))
  }
})

it('has no root without rows', () => {
  expect(createTree().root()).toBeUndefined()
})

it('any bit of any row changes the root', () => {
  const rows = hashes.slice(0, 256)
  const root = toRoot(rows, 'latin1')
  for (const [index, row] of rows.entries()) {
    const changed = Buffer.from(row)
    const at = index % 32
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (index % 8)), at)
    expect(toRoot(rows.with(index, changed), 'latin1'), `row ${index}`).not.toBe(root)
  }
})
