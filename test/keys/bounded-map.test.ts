import { expect, it } from 'vitest'
import { createBoundedMap } from '../../src/keys/bounded-map.ts'

it('never exceeds its limit, and keeps entries in use', () => {
  const map = createBoundedMap<string, number>(10)
  map.set('used', 1)
  for (let index = 0; index < 1000; index++) {
    map.set(`other ${index}`, index)
    expect(map.get('used')).toBe(1)
    expect(map.size()).toBeLessThanOrEqual(10)
  }
  expect(map.get('other 0')).toBeUndefined()
  expect(map.get('other 999')).toBe(999)
})

it('returns the latest value, and undefined after a delete', () => {
  const map = createBoundedMap<string, number>(4)
  map.set('a', 1)
  map.set('b', 2)
  map.set('c', 3)
  map.set('a', 4)
  expect(map.get('a')).toBe(4)
  map.delete('a')
  expect(map.get('a')).toBeUndefined()
})
