import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTextFilter, mayHaveText } from '../../src/requests/block-store.ts'

const toId = (number: number) => `req_${createHash('md5').update(String(number)).digest('hex')}`

describe('the filter of a block', () => {
  it('never denies a text that it was made of', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 64 }), { maxLength: 300 }), (texts) => {
        const filter = createTextFilter(texts)
        return texts.every((text) => mayHaveText(filter, text))
      }),
    )
  })

  it.each([
    ['random', toId],
    ['alike', (number: number) => `req_${String(number).padStart(32, '0')}`],
    [
      'of another form',
      (number: number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`,
    ],
  ])('denies nearly all others: %s', (_name, toText) => {
    const filter = createTextFilter(Array.from({ length: 4000 }, (_each, number) => toText(number)))
    const wrong = Array.from({ length: 10_000 }, (_each, number) => toText(4000 + number)).filter((text) =>
      mayHaveText(filter, text),
    )
    expect(wrong.length).toBeLessThan(300)
  })

  it('of no text denies every text', () => {
    expect(mayHaveText(createTextFilter([]), 'a')).toBe(false)
  })
})
