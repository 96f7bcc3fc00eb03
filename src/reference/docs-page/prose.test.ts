import { expect, test } from 'vitest'
import { toInline, toProse } from './prose.ts'

test('blank lines part paragraphs', () => {
  expect(toProse('one\ntwo\n\nthree').safe).toBe('<p>one\ntwo</p><p>three</p>')
})

test('code may stand in bold, and stars may stand in code', () => {
  expect(toInline('**a `b` c** and `****`').safe).toBe(
    '<strong>a <code>b</code> c</strong> and <code>****</code>',
  )
})

test('markup in the text is text, in code and bold too', () => {
  expect(toInline('<b> `<i>` **<u>**').safe).toBe(
    '&lt;b&gt; <code>&lt;i&gt;</code> <strong>&lt;u&gt;</strong>',
  )
})

test('marks without an end stay as they are', () => {
  expect(toInline('a ` b ** c').safe).toBe('a ` b ** c')
})
