import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createWaiting } from '../../src/http/admission.ts'

const fill = (waiting: ReturnType<typeof createWaiting>, keyId: string) => {
  let count = 0
  while (waiting.reserve(keyId)) count += 1
  return count
}

it('gives one key half, and leaves some for every further key', () => {
  const waiting = createWaiting(1000)
  expect(['a', 'b', 'c', 'd'].map((keyId) => fill(waiting, keyId))).toEqual([500, 250, 125, 63])
})

it('never allows more than the limit, and gives back what was released', () => {
  const steps = fc.array(fc.record({ keyId: fc.constantFrom('a', 'b', 'c'), isRelease: fc.boolean() }))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), steps, (max, list) => {
      const waiting = createWaiting(max)
      const held: string[] = []
      for (const { keyId, isRelease } of list) {
        const index = held.indexOf(keyId)
        if (isRelease && index !== -1) waiting.release(held.splice(index, 1)[0] as string)
        else if (!isRelease && waiting.reserve(keyId)) held.push(keyId)
        expect(held.length).toBeLessThanOrEqual(max)
      }
      for (const keyId of held) waiting.release(keyId)
      expect(fill(waiting, 'new')).toBe(Math.ceil(max / 2))
    }),
  )
})
