import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldName, isSameName, sharesNames } from './name-match.ts'

const isSame = (one: string, other: string) => isSameName(foldName(one), foldName(other))
const name = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.lorem({ maxCount: 3 }),
)

describe('the same name', () => {
  it.each([
    ['Chidi', 'CHIDI'],
    ['Olúwaṣẹ́gun', 'oluwasegun'],
    ['Ńwáńkwọ', 'NWANKWO'],
    ['Ɗanjuma Ƙasim', 'danjuma kasim'],
    ['Ada Ngozi', 'Ngozi Ada'],
    ['Abdul-Rahman', 'Abdul Rahman'],
    ['Abdul-Rahman', 'Abdulrahman'],
    ["O'Brien", 'OBRIEN'],
    ['N’Golo', "N'Golo"],
    ['Alhaji Musa', 'Musa'],
    ['Mrs. Dr. Ngozi', 'Ngozi'],
    ['Chief', 'chief'],
    ['Ｃｈｉｄｉ', 'Chidi'],
    ['Straße', 'STRASSE'],
    [' Ada  ', 'Ada'],
  ])('%s, %s', (one, other) => {
    expect(isSame(one, other)).toBe(true)
  })

  it.each([
    ['Mohammed', 'Muhammad'],
    ['Chukwu', 'Chukwuemeka'],
    ['Ada Ada', 'Ada'],
    ['A', 'Ada'],
    ['Alhaji', 'Musa'],
    ['-', '-'],
    ['', ''],
  ])('is not %s, %s', (one, other) => {
    expect(isSame(one, other)).toBe(false)
  })

  it('is symmetric', () => {
    fc.assert(fc.property(name, name, (one, other) => isSame(one, other) === isSame(other, one)))
  })

  it('holds for a name itself, in any case and order of its words', () => {
    fc.assert(
      fc.property(name, (one) => {
        const words = foldName(one)
        if (words.length === 0) return
        expect(isSame(one, one)).toBe(true)
        expect(isSame(one, words.toReversed().join(' '))).toBe(true)
        expect(isSame(one.normalize('NFC'), one.normalize('NFD'))).toBe(true)
      }),
    )
  })
})

it('folds a name that is folded already to itself', () => {
  fc.assert(
    fc.property(name, (one) => {
      const once = foldName(one)
      expect(foldName(once.join(' '))).toEqual(once)
    }),
    { numRuns: 2000 },
  )
})

describe('shared names', () => {
  const known = new Set(['adaeze', 'ngozi', 'okafor', 'a'])
  it.each([
    ['Adaeze', true],
    ['Ngozi', true],
    ['Adaeze Joy', true],
    ['Mrs Adaeze Joy', true],
    ['Joy', false],
    ['Joy Adaeze Peace', false],
    ['Ada', false],
    ['A', false],
    ['Ibrahim Musa Chidi Emeka Okafor', false],
  ])('%s: %s', (given, shares) => {
    expect(sharesNames(foldName(given), known)).toBe(shares)
  })
})
