import { expect, it } from 'vitest'
import { completeBvn, completeNin, toText } from '../../src/sources/record.ts'

it('joins the lines of an address, and ignores nested lists', () => {
  expect(toText(['2 Invented Close', null, 'Flat', 3])).toBe('2 Invented Close Flat 3')
  expect(toText(['a', ['b']])).toBe('a')
})

it.each(['Zo\ufffd', '\ud800', 'a\udc00b'])('hides %j, which cannot be read', (text) => {
  expect(toText(text)).toBe('****')
  expect(toText([text, 'Lagos'])).toBe('**** Lagos')
})

it('cuts a long text between two characters', () => {
  expect(toText(`${'x'.repeat(499)}😀`)).toBe('x'.repeat(499))
})

it('survives deeply nested lists', () => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  expect(toText(deep)).toBe('')
})

it.each([
  [{ first_name: 'Ngozi', last_name: '*****' }, '****'],
  [{ first_name: 'Ng**i', last_name: 'Okafor' }, '****'],
  [{ first_name: 'Ngozi', middle_name: 'N/A', last_name: 'Okafor' }, 'Ngozi Okafor'],
  [{ first_name: 'Ngozi', last_name: '****', full_name: 'Ngozi Okafor' }, 'Ngozi Okafor'],
])('the full name of %j is %s', (personal_info, full_name) => {
  expect(completeNin({ personal_info }).personal_info.full_name).toBe(full_name)
  expect(completeBvn({ personal_info }).personal_info.full_name).toBe(full_name)
})
