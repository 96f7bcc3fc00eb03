import { expect, it } from 'vitest'
import { toText } from './record.ts'

it('joins an address in parts, and takes lists in lists for no data', () => {
  expect(toText(['2 Invented Close', null, 'Flat', 3])).toBe('2 Invented Close Flat 3')
  expect(toText(['a', ['b']])).toBe('a')
})

it('is not brought down by lists in lists without end', () => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  expect(toText(deep)).toBe('')
})
