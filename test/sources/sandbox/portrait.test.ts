import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drawPortrait, toPortraitCode } from '../../../src/sources/sandbox/portrait.ts'
import { Seed } from '../../../src/sources/sandbox/seed.ts'

/** Every code the grammar allows: few enough to draw them all. */
const allCodes = ['m', 'f'].flatMap((gender) =>
  Array.from({ length: 6 * 6 * 4 * 6 * 6 }, (_, index) => {
    const places = [6, 6, 4, 6, 6]
    let rest = index
    const digits = places.map((size) => {
      const digit = rest % size
      rest = Math.floor(rest / size)
      return digit
    })
    return [gender, ...digits].join('-')
  }),
)

describe('a portrait', () => {
  test('is drawn for every code, in one of 36 pairs of colours', () => {
    const portraits = allCodes.map(drawPortrait)
    expect(portraits).not.toContain(undefined)
    expect(new Set(portraits).size).toBe(36)
  })

  test('is a complete SVG that runs nothing and refers to nothing outside of it', () => {
    for (const code of allCodes.filter((_, index) => index % 37 === 0)) {
      const svg = drawPortrait(code) ?? ''
      expect(svg).toMatch(
        /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="320" height="400" .*<\/svg>$/,
      )
      expect(svg).not.toMatch(/<script|<image|<use|<style|href|url\(|\son[a-z]+=|undefined|NaN/)
      expect(svg.match(/<g[ >]/g)?.length).toBe(svg.match(/<\/g>/g)?.length)
    }
  })

  test.each([
    '',
    'f',
    'x-0-0-0-0-0',
    'F-0-0-0-0-0',
    'f-0-0-0-0',
    'f-0-0-0-0-0-0',
    'f-6-0-0-0-0',
    'f-0-6-0-0-0',
    'f-0-0-4-0-0',
    'f-0-0-0-6-0',
    'f-0-0-0-0-6',
    'f-00-0-0-0-0',
    'f--1-0-0-0-0',
    'f-0-0-0-0-0\n',
    ' f-0-0-0-0-0',
    'f-0-0-0-0-0.svg',
    '../f-0-0-0-0-0',
    'f-٠-0-0-0-0',
  ])('is not drawn for %j', (code) => {
    expect(drawPortrait(code)).toBeUndefined()
  })

  test('is not drawn for any other text', () => {
    const valid = new Set(allCodes)
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(drawPortrait(text) !== undefined).toBe(valid.has(text))
      }),
    )
  })
})

test('a portrait code has the gender of the person and can be drawn', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{11}$/), fc.constantFrom('m', 'f'), (nin, gender) => {
      const code = toPortraitCode(new Seed('nin', nin, 'portrait'), gender)
      expect(code[0]).toBe(gender)
      expect(drawPortrait(code)).toBeDefined()
    }),
  )
})
