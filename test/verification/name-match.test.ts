import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldName, isSameName, TITLES, takeNames } from '../../src/verification/match-details.ts'

const isSame = (one: string, other: string) => isSameName(foldName(one), foldName(other))
const name = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.lorem({ maxCount: 3 }),
)

describe('the same name', () => {
  it.each([
    ['Chidi', 'CHIDI'],
    ['STRAUẞ', 'Strauss'],
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
    ['Ngozi (Mrs)', 'Ngozi'],
    ['Barr. (Mrs) Ngozi', 'Ngozi, Esq.'],
    ['Pastor Emeka', 'Emeka'],
    ['Malam Musa', 'Mallam Musa'],
    ['Sir Emeka', 'Emeka'],
    ['Barrister Ngozi', 'NGOZI'],
    ['محـــمد', 'محمد'],
    ['مُحَمَّد', 'محمد'],
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
    ['Sir', 'Pastor'],
    ['Prince Emeka', 'Justice Emeka'],
    ['Mrs', 'Ngozi (Mrs)'],
    ['-', '-'],
    ['', ''],
  ])('is not %s, %s', (one, other) => {
    expect(isSame(one, other)).toBe(false)
  })

  it.each([
    ['Ɓala', 'bala'],
    ['Ɗan', 'dan'],
    ['Ƙasim', 'kasim'],
    ['Ƴusuf', 'yusuf'],
    ['Ǝma', 'ema'],
    ['Əma', 'ema'],
    ['Ɛma', 'ema'],
    ['Ɔla', 'ola'],
    ['Øla', 'ola'],
    ['Łukasz', 'lukasz'],
    ['Đoko', 'doko'],
    ['Æsir', 'aesir'],
    ['Œuvre', 'oeuvre'],
    ['Νίκος', 'νικοσ'],
  ])('is written with plain letters: %s is %s', (one, other) => {
    expect(foldName(one)).toEqual([other])
    expect(foldName(one.toLowerCase())).toEqual([other])
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

it('ignores a title before or after a name, whatever the name', () => {
  const title = fc.constantFrom(...TITLES)
  fc.assert(
    fc.property(name, title, title, (one, before, after) => {
      if (foldName(one).length === 0) return
      expect(isSame(one, `${before.toUpperCase()}. ${one}`)).toBe(true)
      expect(isSame(one, `${one} (${after})`)).toBe(true)
      expect(isSame(one, `${before} ${one}, ${after}`)).toBe(true)
    }),
  )
})

it('has the titles that docs/match.md lists', () => {
  const [, list = ''] =
    readFileSync('docs/match.md', 'utf8').match(/^## Titles$.*?\n\n(- Mr, .*?)\.\n/ms) ?? []
  expect(new Set(foldName(list))).toEqual(TITLES)
})

describe('shared names', () => {
  const known = ['adaeze', 'ngozi', 'okafor', 'a']
  it.each([
    ['Adaeze', true],
    ['Ngozi', true],
    ['Adaeze Joy', true],
    ['Mrs Adaeze Joy', true],
    ['Adaeze Adaeze', true],
    ['Adaeze Adaeze Adaeze', false],
    ['Joy', false],
    ['Joy Adaeze Peace', false],
    ['Ada', false],
    ['A', false],
    ['Ibrahim Musa Chidi Emeka Okafor', false],
  ])('%s: %s', (given, shares) => {
    expect(takeNames(foldName(given), known) !== undefined).toBe(shares)
  })
})
