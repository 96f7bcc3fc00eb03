import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ACKNOWLEDGED_FOLDER,
  createAcknowledgedFile,
  listAcknowledged,
  readAcknowledged,
} from '../../src/audit/acknowledged-file.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'

const CHAIN = 'a1b2c3d4-1'
const ROWS = linkEntries(
  CHAIN,
  EMPTY_HEAD,
  Array.from({ length: 12 }, () => ({ phase: 'outcome' as const })),
)
const rowsFrom = (first: number, last: number) => ROWS.slice(first - 1, last)

describe('createAcknowledgedFile', () => {
  let dataDir = ''
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'tabbat-acknowledged-'))
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  const folder = () => join(dataDir, ACKNOWLEDGED_FOLDER)
  const listSequences = async () => (await readAcknowledged(dataDir, CHAIN)).map(({ sequence }) => sequence)

  it('writes rows again that could not be written, and then no longer fails', async () => {
    const file = createAcknowledgedFile(dataDir, CHAIN)
    writeFileSync(folder(), 'not a folder')
    file.add(rowsFrom(1, 2))
    await expect(file.flush()).rejects.toThrow()
    file.add(rowsFrom(3, 3))
    await expect(file.flush()).rejects.toThrow()
    rmSync(folder())
    await file.flush()
    expect(await listSequences()).toEqual([1, 2, 3])
    await file.flush()
  })

  it('keeps the first row after a line that a crash left incomplete', async () => {
    const before = createAcknowledgedFile(dataDir, CHAIN)
    before.add(rowsFrom(1, 2))
    await before.flush()
    appendFileSync(join(folder(), `${CHAIN}.log`), '3 00ff')
    const after = createAcknowledgedFile(dataDir, CHAIN)
    after.add(rowsFrom(3, 3))
    await after.flush()
    expect(await listSequences()).toEqual([1, 2, 3])
  })

  it('reads a row once that was written twice, because its first writing failed half-way', async () => {
    for (const [first, last] of [[1, 4] as const, [3, 5] as const]) {
      const file = createAcknowledgedFile(dataDir, CHAIN)
      file.add(rowsFrom(first, last))
      await file.flush()
    }
    expect(await listSequences()).toEqual([1, 2, 3, 4, 5])
  })

  it('leaves files of others in the folder alone', async () => {
    const file = createAcknowledgedFile(dataDir, CHAIN)
    file.add(rowsFrom(1, 1))
    await file.flush()
    writeFileSync(join(folder(), 'notes.txt'), 'of the operator')
    expect(await listAcknowledged(dataDir)).toEqual([CHAIN])
  })

  it('begins a new file after so many rows, also over restarts', async () => {
    for (let sequence = 1; sequence <= ROWS.length; sequence += 1) {
      const file = createAcknowledgedFile(dataDir, CHAIN, 4)
      file.add(rowsFrom(sequence, sequence))
      await file.flush()
    }
    expect(readdirSync(folder()).toSorted()).toEqual([`${CHAIN}.log`, `${CHAIN}.old.log`])
    const kept = await listSequences()
    expect(kept.at(-1)).toBe(ROWS.length)
    expect(kept.length).toBeLessThan(ROWS.length)
  })
})
