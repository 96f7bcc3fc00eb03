import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AuditTable } from '../../src/audit/audit-table.ts'
import { findShortened } from '../../src/audit/checkpoint.ts'
import { CHECKPOINT_FILE } from '../../src/audit/checkpoint-folder.ts'

const HASH = 'ab'.repeat(32)

/** Compares a log of one chain with a file whose last checkpoint says that the chain `a` has five rows. */
function find({ rows, hash = HASH, chain = 'a', isArchived = false }: Partial<Log>) {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-shortened-'))
  const body = JSON.stringify({ heads: [{ chain: 'a', sequence: 5, hash: HASH }] })
  const checkpoint = { time: '2026-11-17T08:00:00.000Z', body, signature: 'AA==' }
  writeFileSync(join(folder, CHECKPOINT_FILE), `${JSON.stringify(checkpoint)}\n`)
  const table = {
    chains: async () => [{ chain, isArchived }],
    find: async (name: string, sequence: number) =>
      name === chain && sequence <= (rows ?? 0) ? { hash: Buffer.from(hash, 'hex') } : undefined,
    head: async () => ({ sequence: rows }),
  }
  return findShortened(table as unknown as AuditTable, folder)
}
type Log = {
  readonly rows: number
  readonly hash: string
  readonly chain: string
  readonly isArchived: boolean
}

it('finds nothing in the log of the last checkpoint, or if its rows are archived', async () => {
  expect(await find({ rows: 5 })).toEqual([])
  expect(await find({ rows: 0, isArchived: true })).toEqual([])
})

it('finds a chain that is shorter', async () => {
  expect(await find({ rows: 3 })).toEqual([{ chain: 'a', kept: 3, acknowledged: 5, references: [] }])
})

it.each([
  ['has another row there', { rows: 5, hash: 'cd'.repeat(32) }],
  ['does not have the chain', { rows: 5, chain: 'b' }],
])('throws if the log %s: it is another one', async (_what, log) => {
  await expect(find(log)).rejects.toThrow('is not the one of the last checkpoint')
})
