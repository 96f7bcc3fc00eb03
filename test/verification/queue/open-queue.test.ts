import { expect, it } from 'vitest'
import { createQueuePace, createQueueSignals } from '../../../src/verification/queue/open-queue.ts'

it('a verification takes one attempt, and the attempts of its turn before it', () => {
  let at = 0
  const pace = createQueuePace(2, () => at)
  expect(pace.estimateMs(10)).toBe(0)
  const ends = [pace.begin(), pace.begin()]
  expect(pace.isFull()).toBe(true)
  at = 2000
  for (const end of ends) end()
  expect(pace.isFull()).toBe(true)
  at = 3000
  expect(pace.isFull()).toBe(false)
  expect(pace.estimateMs(0)).toBe(2000)
  expect(pace.estimateMs(10)).toBe(12_000)
  pace.look(3)
  expect(pace.estimateMs(10)).toBe(32_000)
})

it('looks for the answers of other processes once for all waiting callers', async () => {
  const statements: number[] = []
  const ended = new Set<string>()
  const { waitForEnd, close } = createQueueSignals(async (references) => {
    statements.push(references.length)
    return references.filter((each) => ended.has(each))
  })
  const waits = Array.from({ length: 2500 }, (_each, index) => waitForEnd(`ref_${index}`, 60_000))
  await expect.poll(() => statements.length).toBe(3)
  expect(statements).toEqual([1000, 1000, 500])
  ended.add('ref_1700')
  expect(await waits[1700]).toBe(false)
  expect(statements.slice(3, 6)).toEqual([1000, 1000, 500])
  close()
  expect(await Promise.all(waits.filter((_each, index) => index !== 1700))).toEqual(Array(2499).fill(true))
})

it('goes on looking when the database was lost for a moment', async () => {
  let looks = 0
  const { waitForEnd } = createQueueSignals(async (references) => {
    looks += 1
    if (looks === 1) throw new Error('lost')
    return [...references]
  })
  expect(await waitForEnd('ref', 60_000)).toBe(false)
  expect(looks).toBe(2)
})
