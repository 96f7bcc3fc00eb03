import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AuditTable } from '../../src/audit/audit-table.ts'
import { findShortened } from '../../src/audit/checkpoint.ts'
import { CHECKPOINT_FILE } from '../../src/audit/checkpoint-folder.ts'

const HASH = 'ab'.repeat(32)
const OTHER = 'cd'.repeat(32)

type Log = {
  readonly rows: number
  readonly hash: string
  readonly chain: string
  readonly isArchived: boolean
  /** From this row on, the log has others. */
  readonly replacedFrom: number
}

/** Compares a log of one chain with a file whose last checkpoint says that the chain `a` has five rows. */
function find(
  { rows, hash = HASH, chain = 'a', isArchived = false, replacedFrom = 9 }: Partial<Log>,
  ...options: [object?]
) {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-shortened-'))
  const toLine = (sequence: number) => {
    const body = JSON.stringify({ heads: [{ chain: 'a', sequence, hash: HASH }] })
    return `${JSON.stringify({ time: '2026-11-17T08:00:00.000Z', body, signature: 'AA==' })}\n`
  }
  writeFileSync(join(folder, CHECKPOINT_FILE), [2, 3, 5].map(toLine).join(''))
  const table = {
    chains: async () => [{ chain, isArchived }],
    find: async (name: string, sequence: number) =>
      name === chain && sequence <= (rows ?? 0)
        ? { hash: Buffer.from(sequence < replacedFrom ? hash : OTHER, 'hex') }
        : undefined,
    head: async () => ({ sequence: rows }),
  }
  return findShortened(table as unknown as AuditTable, folder, ...options)
}

it('finds nothing in the log of the last checkpoint, or if its rows are archived', async () => {
  expect(await find({ rows: 5 })).toEqual([])
  expect(await find({ rows: 0, isArchived: true })).toEqual([])
})

it('finds a chain that is shorter', async () => {
  expect(await find({ rows: 3 })).toEqual([{ chain: 'a', kept: 3, acknowledged: 5, references: [] }])
})

it.each([
  ['has another row there', { rows: 5, replacedFrom: 4 }],
  ['does not have the chain', { rows: 5, chain: 'b' }],
])('throws if the log %s: it is another one', async (_what, log) => {
  await expect(find(log)).rejects.toThrow('is not the one of the last checkpoint')
})

it.each([
  ['is only shorter', { rows: 4 }, 4],
  ['goes on with other rows, of which none is signed', { rows: 4, replacedFrom: 4 }, 4],
  ['goes on with other rows than those that are signed', { rows: 4, replacedFrom: 3 }, 2],
  ['has other rows instead', { rows: 6, replacedFrom: 4 }, 3],
  ['has other rows from the start', { rows: 6, replacedFrom: 1 }, 0],
])('after a restore, finds the last row of the old log in one that %s', async (_what, log, kept) => {
  expect(await find(log, { acceptsOther: true })).toEqual([
    { chain: 'a', kept, acknowledged: 5, references: [] },
  ])
})
