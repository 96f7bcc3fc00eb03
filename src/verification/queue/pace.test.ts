import { expect, it } from 'vitest'
import { createQueuePace } from './pace.ts'

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
