import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SyncDatabase } from '../../src/database/database.ts'
import { migrate } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import type { BatchAnswer, CommitBatch } from '../../src/ledger/commit.ts'
import { idempotencyTable } from '../../src/ledger/idempotency-table.ts'
import { createSqliteAnswers } from '../../src/ledger/sqlite-append.ts'

const NOW = 1_000_000
const toHash = (index: number) => index.toString(16).padStart(2, '0').repeat(32)
const toAnswer = (index: number, change: Partial<BatchAnswer> = {}): BatchAnswer => ({
  ...{ position: index, keyId: 'key', operation: 'verify_nin', name: toHash(index), fingerprint: toHash(99) },
  ...{ subject: toHash(98), owner: 'node', expiresAt: NOW + 1000, record: undefined, size: 1 },
  ...change,
})
const toBatch = (answers: readonly BatchAnswer[], at = NOW): CommitBatch => ({
  claims: [],
  payments: [],
  shares: [],
  refunds: [],
  keyShares: [],
  completions: [],
  releases: [],
  settled: [],
  kept: [],
  ...{ at, since: 0, day: 1, maxByKey: 5, maxByAll: 20, guesses: [], answers },
  sealed: Uint8Array.from(answers.map(({ position }) => position)),
})

describe('createSqliteAnswers', () => {
  let folder = ''
  let database: ReturnType<typeof openSqlite>
  let answers: ReturnType<typeof createSqliteAnswers>
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tabbat-answers-'))
    database = openSqlite(join(folder, 'tabbat.db'))
    await migrate(database)
    answers = createSqliteAnswers(database.sync as SyncDatabase)
  })
  afterEach(async () => {
    await database.close()
    rmSync(folder, { recursive: true })
  })
  const store = (batch: CommitBatch) =>
    database.transaction(async () => {
      const stored = answers.add(batch)
      if (stored.every(Boolean)) answers.finish()
      else answers.undo()
      return stored
    })
  const list = async () =>
    (await database.prepare('SELECT sealed, paid_calls FROM idempotency ORDER BY name').all()).map(
      ({ sealed, paid_calls }) => [(sealed as Uint8Array | null)?.[0], Number(paid_calls)],
    )
  const claim = (index: number, leaseMs: number) =>
    idempotencyTable.create(database).claim({
      ...{ keyId: 'key', operation: 'verify_nin', name: Buffer.from(toHash(index), 'hex'), owner: 'other' },
      ...{ fingerprint: Buffer.from(toHash(99), 'hex'), subject: null, now: NOW - 10, leaseMs },
      expiresAt: NOW + 1000,
    })

  it('stores the responses of a batch', async () => {
    expect(await store(toBatch([toAnswer(1), toAnswer(2)]))).toEqual([true, true])
    expect(await list()).toEqual([
      [1, 0],
      [2, 0],
    ])
  })

  it('stores nothing of a batch with a key that has a response, and leaves that response', async () => {
    await store(toBatch([toAnswer(2)]))
    const again = toAnswer(2, { position: 7 })
    expect(await store(toBatch([toAnswer(1), again, toAnswer(3)]))).toEqual([true, false, true])
    expect(await list()).toEqual([[2, 0]])
  })

  it('stores one of two responses to the same key', async () => {
    expect(await store(toBatch([toAnswer(1), toAnswer(1)]))).toEqual([true, false])
    expect(await list()).toEqual([])
  })

  it('takes the row of an expired response', async () => {
    await store(toBatch([toAnswer(1)]))
    const later = NOW + 1000
    const next = toAnswer(1, { position: 9, expiresAt: later + 1000, fingerprint: toHash(50) })
    expect(await store(toBatch([next], later))).toEqual([true])
    expect(await list()).toEqual([[9, 0]])
  })

  it('takes a claim that was left, with its paid calls, and no claim that is held', async () => {
    await claim(1, 5)
    await claim(2, 500)
    await database.prepare('UPDATE idempotency SET paid_calls = 1').run()
    expect(await store(toBatch([toAnswer(1)]))).toEqual([true])
    expect(await store(toBatch([toAnswer(2)]))).toEqual([false])
    expect(await list()).toEqual([
      [1, 1],
      [undefined, 1],
    ])
  })

  it('stores no response about a record that was erased', async () => {
    expect(await store(toBatch([toAnswer(1, { record: toHash(5) })]))).toEqual([false])
    expect(await list()).toEqual([])
  })
})
