import { describe, expect, it } from 'vitest'
import {
  compileErrorText,
  compilePath,
  compileRules,
  ruleError,
} from '../../../src/sources/vendor-file/rules.ts'
import type { Condition, VendorFile, VendorRule } from '../../../src/sources/vendor-file/schema.ts'
import { NO_QUESTION } from '../../../src/sources/vendor-file/template.ts'

describe('a path', () => {
  it.each([
    ['a', { a: 1 }, 1],
    ['a.b', { a: { b: 1 } }, 1],
    ['a.b.c.d', { a: { b: { c: { d: 1 } } } }, 1],
    ['a.0', { a: ['first'] }, 'first'],
    ['a', {}, undefined],
    ['a.b', { a: 'text' }, undefined],
    ['a.b', {}, undefined],
    ['a.b.c', { a: { b: null } }, undefined],
    ['a.b.c', null, undefined],
    ['a', 'text', undefined],
  ])('%s of %j', (path, body, value) => expect(compilePath(path)(body)).toBe(value))
})

const toRule = (name: string, condition: Condition, then: VendorRule['then']): VendorRule => ({
  name,
  if: condition,
  then,
})
const NAMES = { first_name: 'Ada', last_name: 'Obi' }
const holds = (
  condition: Condition,
  body: unknown,
  { status = 200, details = undefined as object | undefined } = {},
) =>
  compileRules([toRule('rule', condition, 'found')], {
    texts: { own: ['our words'] },
    settings: { pattern: /^phone .* differs$/i, not_found: ['unknown person'] },
    toErrorText: compileErrorText({} as VendorFile),
  })({ status, body }, { ...NO_QUESTION, details: details as never }) !== undefined

describe('a condition', () => {
  it('about the status holds for each of its list', () => {
    const condition = { status: [200, 404] }
    expect([200, 404, 500].map((status) => holds(condition, {}, { status }))).toEqual([true, true, false])
  })

  it.each<[unknown, unknown[], boolean]>([
    ['01', ['01'], true],
    ['01', ['1'], false],
    [1, ['1'], true],
    ['1', [1], true],
    [' 1 ', [1], true],
    ['02', ['01', '02'], true],
    [true, [true], true],
    [true, ['true'], false],
    ['true', [true], false],
    [false, [true], false],
    [null, ['null'], false],
    [undefined, ['undefined'], false],
    [['a'], ['a'], false],
    [{}, [''], false],
  ])('about the value %j being one of %j is %s', (code, is, expected) => {
    expect(holds({ values: [{ at: 'code', is: is as string[] }] }, { code })).toBe(expected)
  })

  it.each<[object, boolean]>([
    [{ code: '01' }, false],
    [{ code: 1 }, true],
    [{ code: '02' }, true],
    [{ code: null }, true],
    [{}, false],
  ])('about a value that must be another one: %j is %s', (body, expected) => {
    expect(holds({ values: [{ at: 'code', is_not: ['01'] }] }, body)).toBe(expected)
  })

  it('holds if all its values do', () => {
    const condition: Condition = {
      values: [
        { at: 'a', is: [1] },
        { at: 'b', is: [2], is_not: [3] },
      ],
    }
    expect(
      [
        { a: 1, b: 2 },
        { a: 1, b: 4 },
        { a: 2, b: 2 },
      ].map((body) => holds(condition, body)),
    ).toEqual([true, false, false])
  })

  it('about members that are there, or not', () => {
    const bodies = [{ a: 0, b: '' }, { a: 0 }, { a: null, b: 1 }, {}]
    expect(bodies.map((body) => holds({ present: ['a', 'b'] }, body))).toEqual([true, false, false, false])
    expect(bodies.map((body) => holds({ absent: ['a'] }, body))).toEqual([false, false, true, true])
    expect(bodies.map((body) => holds({ absent: ['a', 'b'] }, body))).toEqual([false, false, false, true])
  })

  it('about members of which one has a content', () => {
    const condition = { any_present: ['a', 'b'] }
    const contents = ['text', 0, { x: null }, ['x']]
    expect(contents.map((b) => holds(condition, { a: '', b }))).toEqual([true, true, true, true])
    expect(['', ' ', null, undefined, {}, [], true].map((b) => holds(condition, { b }))).toEqual(
      Array(7).fill(false),
    )
  })

  it('about names of the request', () => {
    const sent = [true, false].map((names_sent) => [
      holds({ names_sent }, {}, { details: NAMES }),
      holds({ names_sent }, {}, { details: { date_of_birth: '1990-01-05' } }),
      holds({ names_sent }, {}),
    ])
    expect(sent).toEqual([
      [true, false, false],
      [false, true, true],
    ])
  })

  it.each<[string, Condition['text'], object, boolean]>([
    ['a list of every file', { says: ['no_such_person'] }, { message: 'NIN not found' }, true],
    ['another text', { says: ['no_such_person'] }, { message: 'Not found' }, false],
    ['the list of the file', { says: ['no_such_person', 'own'] }, { error: 'Our words.' }, true],
    ['a setting with phrases', { says: ['{not_found}'] }, { detail: 'Unknown person' }, true],
    ['a setting with a pattern', { says: ['{pattern}'] }, { message: 'Phone number differs' }, true],
    ['a pattern that does not hold', { says: ['{pattern}'] }, { message: 'differs' }, false],
    ['no setting', { says: ['{other}'] }, { message: 'x' }, false],
    ['no text', { says: ['own'] }, {}, false],
    ['a text at its place', { at: 'data.why', says: ['temporary'] }, { data: { why: 'Try later' } }, true],
    ['a text elsewhere', { at: 'data.why', says: ['temporary'] }, { message: 'Try later' }, false],
    ['an exception', { says: ['funds'], unless: ['temporary'] }, { message: 'No funds, try later' }, false],
    ['no exception', { says: ['funds'], unless: ['temporary'] }, { message: 'No funds' }, true],
    ['the format', { says: ['format'] }, { message: 'nin must be a text' }, true],
    ['the phone', { says: ['phone_differs'] }, { message: 'Phone mismatch' }, true],
  ])('about the text: %s', (_what, text, body, expected) => {
    expect(holds({ text } as Condition, body)).toBe(expected)
  })

  it('holds if all its parts do, and the first rule that holds decides', () => {
    const rules = [
      toRule('one', { status: [200], present: ['a'] }, 'found'),
      toRule('two', { status: [200] }, 'failure'),
      toRule('three', { status: [200] }, 'refused'),
    ]
    const decide = compileRules(rules, { texts: {}, settings: {}, toErrorText: () => '' })
    const nameOf = (status: number, body: unknown) => decide({ status, body }, NO_QUESTION)?.name
    expect([nameOf(200, { a: 1 }), nameOf(200, {}), nameOf(404, { a: 1 })]).toEqual(['one', 'two', undefined])
  })
})

it('the text of an error is at the place of the file, or at a usual one', () => {
  const read = compileErrorText({ error_text: 'data.why' } as VendorFile)
  expect(read({ data: { why: 'own' }, message: 'usual' })).toBe('own')
  expect(read({ data: {}, message: 'usual' })).toBe('usual')
  expect(compileErrorText({} as VendorFile)({ data: { why: 'own' }, error: 'usual' })).toBe('usual')
})

describe('a reply that is no answer', () => {
  const read = (then: string | undefined, status = 200, body: unknown = {}, status_at?: string) => {
    const rule = then === undefined ? undefined : ({ name: 'rule', if: {}, then, status_at } as VendorRule)
    const { source, reason, problem } = ruleError('acme', rule, { status, body }, 'Insufficient balance')
    return `${source} ${reason}/${problem}`
  }

  it.each([
    ['refused', 'refused/credentials'],
    ['no_funds', 'refused/funds'],
    ['throttled', 'throttled/too_many'],
    ['repeated', 'refused/repeated_call'],
    ['malformed_request', 'bad_response/rejected'],
    ['failure', 'unreachable/vendor_down'],
    ['contradiction', 'bad_response/contradictory'],
    ['unknown', 'bad_response/unknown_shape'],
  ])('%s is %s', (then, expected) => expect(read(then)).toBe(`acme ${expected}`))

  it('is judged by its status where no rule holds', () => {
    expect(read(undefined, 500)).toBe('acme unreachable/vendor_failed')
    expect(read(undefined, 400)).toBe('acme refused/funds')
  })

  it('is judged by a status in the answer', () => {
    expect(read('by_status', 200, { code: '503' }, 'code')).toBe('acme unreachable/vendor_failed')
    expect(read('by_status', 500, { data: { code: 429 } }, 'data.code')).toBe('acme throttled/too_many')
    expect(read('by_status', 500, {}, 'code')).toBe('acme bad_response/unknown_shape')
  })
})
