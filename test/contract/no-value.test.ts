import fc from 'fast-check'
import { expect, it } from 'vitest'
import { saysNothing, saysNotListed, toName } from '../../src/contract/record.ts'

const WORDS = [
  ...[
    'N/A',
    'n/a',
    'N\\A',
    'N.A.',
    'n.a',
    'NA',
    'null',
    'NULL',
    '(null)',
    '<null>',
    '[null]',
    "'null'",
    'undefined',
  ],
  ...[
    'nil',
    'NILL',
    'None',
    'NONE.',
    'Unknown',
    'not available',
    'NOT_APPLICABLE',
    'Not  provided',
    'no data',
  ],
  ...['', ' ', '-', '--', '—', '.', '...', '/', '?', '_', '"', 'Ｎ／Ａ', '\u00a0'],
]

it.each(WORDS)('says nothing: %j', (word) => {
  expect(saysNothing(word)).toBe(true)
  expect(saysNothing(` ${word.toUpperCase()}\t`)).toBe(true)
  expect(toName(word)).toBe('')
  expect(saysNotListed(word)).toBe(true)
})

it.each([
  '0',
  '00',
  '****',
  'No',
  'Nan',
  'Nulla',
  'Noné',
  'Nile',
  'Naira',
  'Nasir',
  'A',
  '李',
  'not known to us',
])('is a value: %j', (text) => {
  expect(saysNothing(text)).toBe(false)
})

it.each([
  ['Ada null Obi', 'Ada Obi'],
  ['Ada N/A Obi', 'Ada Obi'],
  ['Ada (null) Obi', 'Ada Obi'],
  ['ADA NIL OBI', 'ADA OBI'],
  ['None None', ''],
  ['NA NA NA', ''],
  ['null undefined', ''],
  ['- .', ''],
  ['0', ''],
  ['12345', ''],
  ['Na Allah', 'Na Allah'],
  ['OKAFOR N.A.', 'OKAFOR N.A.'],
  ['N.A. N.A.', ''],
  ['Adeyemi - Bello', 'Adeyemi - Bello'],
  ['**** Obi', '**** Obi'],
  ['****', '****'],
  ["N'Golo", "N'Golo"],
  ['Ọlá', 'Ọlá'],
])('the name in %j is %j', (text, name) => {
  expect(toName(text)).toBe(name)
})

it.each([
  'NO',
  'n',
  'False',
  '0',
  'CLEAR',
  'Not Watchlisted',
  'NOT WATCH-LISTED',
  'not_watch_listed',
  'Not on the watch list.',
])('is no watch list entry: %j', (text) => expect(saysNotListed(text)).toBe(true))

it.each([
  'YES',
  'true',
  '1',
  'WATCHLISTED',
  'NIBSS',
  '****',
  'not cleared',
  'no longer watched, blocked',
  'nobody',
])('is a watch list entry: %j', (text) => expect(saysNotListed(text)).toBe(false))

it('changes no name that has none of the words in it', () => {
  const letters = fc.string({
    unit: fc.constantFrom('b', 'd', 'g', 'ọ', 'é', "'", '-'),
    minLength: 1,
    maxLength: 9,
  })
  fc.assert(
    fc.property(
      letters.filter((text) => /[a-zọé]/.test(text)),
      (name) => {
        expect(toName(name)).toBe(name)
        expect(saysNothing(name)).toBe(false)
      },
    ),
  )
})
