import { afterEach, describe, expect, it, vi } from 'vitest'
import type { BatchResult } from '../../src/batches/batch.ts'
import { type Reader, writeResults } from '../../src/batches/batch-results.ts'
import { createTurns } from '../../src/batches/turns.ts'
import type { Caller } from '../../src/keys/caller.ts'

const ROWS = 1000
const CALLER = { keyId: 'k1', lineage: 'k1', scopes: new Set(), hidden: [] } as unknown as Caller

const toRow = (line: number) => ({ line, operation: 'verify_nin', isWaiting: true }) as unknown as BatchResult

/** The results of a batch of rows that wait, on a database that answers at once. */
function open(findCaller: () => Promise<Caller | undefined> = async () => CALLER) {
  const table = {
    listResults: async (_id: string, { afterLine, most }: { afterLine: number; most: number }) =>
      Array.from({ length: Math.min(most, ROWS - afterLine) }, (_, at) => toRow(afterLine + at + 1)),
  }
  const queue = { settings: { keepMs: 1000 }, findCaller }
  const deps = { table, queue, turns: createTurns(), pictureKey: () => {} } as unknown as Parameters<
    typeof writeResults
  >[0]
  return writeResults(deps, 'bat_1', 'application/x-ndjson', CALLER as Reader)
}

const toLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((each) => (JSON.parse(each) as { line: number }).line)

afterEach(() => void vi.restoreAllMocks())

describe('the results of a batch', () => {
  it('are all there, in order', async () => {
    const pieces = await Array.fromAsync(open())
    expect(toLines(pieces.join(''))).toEqual(Array.from({ length: ROWS }, (_, at) => at + 1))
  })

  it('let the event loop turn after every piece, however fast they are read', async () => {
    let turns = 0
    let isOver = false
    const count = () => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const pieces = await Array.fromAsync(open())
    isOver = true
    expect(pieces.length).toBeGreaterThan(20)
    expect(turns).toBeGreaterThanOrEqual(pieces.length - 1)
  })

  it('end a second after their key was revoked', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(5000)
    let caller: Caller | undefined = CALLER
    const results = open(async () => caller)
    await results.next()
    caller = undefined
    clock.mockReturnValue(5999)
    expect((await results.next()).done).toBe(false)
    clock.mockReturnValue(6000)
    await expect(results.next()).rejects.toThrow('Unauthenticated')
    expect((await results.next()).done).toBe(true)
  })

  it('are not read on by the key that follows one that was rolled and has ended', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
    const results = open(async () => ({ ...CALLER, keyId: 'k2' }))
    await results.next()
    clock.mockReturnValue(1000)
    await expect(results.next()).rejects.toThrow('Unauthenticated')
  })
})
