import { expect, test } from 'vitest'
import { toInline, toProse } from '../../../src/reference/docs-page/html.ts'

test('blank lines separate paragraphs', () => {
  expect(toProse('one\ntwo\n\nthree').safe).toBe('<p>one\ntwo</p><p>three</p>')
})

test('bold text may contain code, and code may contain stars', () => {
  expect(toInline('**a `b` c** and `****`').safe).toBe(
    '<strong>a <code>b</code> c</strong> and <code>****</code>',
  )
})

test('HTML in the text is escaped, also in code and bold', () => {
  expect(toInline('<b> `<i>` **<u>**').safe).toBe(
    '&lt;b&gt; <code>&lt;i&gt;</code> <strong>&lt;u&gt;</strong>',
  )
})

test('unclosed marks are kept', () => {
  expect(toInline('a ` b ** c').safe).toBe('a ` b ** c')
})
