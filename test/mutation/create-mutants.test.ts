import { describe, expect, it } from 'vitest'
import { applyTo, createMutants, instrument, parses } from './create-mutants.ts'

const FILE = 'src/example.ts'
const changed = (text: string) => createMutants(FILE, text).map((mutant) => applyTo(text, mutant))

describe('the mutants of a file', () => {
  it.each([
    ['if (a) b()', ['if (true) b()', 'if (false) b()', 'if (a) void 0;']],
    ['const x = a < b', ['const x = a <= b']],
    ['const x = a === b', ['const x = a !== b']],
    ['const x = a && b', ['const x = ((a) || (b))']],
    ['const x = a ?? b', ['const x = (a)', 'const x = (b)']],
    ['const x = a - b', ['const x = a + b']],
    ["const x = 'a' + b", []],
    ['const x = !a', ['const x = (a)']],
    ['const x = true', ['const x = false']],
    ['const x = 5', ['const x = 6']],
    ['const x = 5000', ['const x = 10000']],
    ["const x = 'a'", ["const x = ''"]],
    ["const x = ''", ["const x = 'changed'"]],
    ['a += b', ['a -= b', 'void 0;']],
    ['await a()', ['void 0;']],
    ['for (const a of b) { c; d }', ['for (const a of b) {}']],
    ['const x = () => { return a }', ['const x = () => { return undefined }']],
    ['const x = Math.min(a, b)', ['const x = Math.max(a, b)']],
    ['const x = a.filter(b)', ['const x = (a)']],
    ['const x = a.some(b)', ['const x = a.every(b)']],
    [
      'const x = `UPDATE a SET b = b + $2 WHERE b <= $1`',
      [
        'const x = `UPDATE a SET b = b - $2 WHERE b <= $1`',
        'const x = `UPDATE a SET b = b + $2 WHERE b < $1`',
      ],
    ],
    ['const x = `SELECT a WHERE b = $1`', ['const x = `SELECT a WHERE b <> $1`']],
  ])('are, for %s', (text, expected) => {
    expect(changed(text).toSorted()).toEqual(expected.toSorted())
  })

  it.each([
    'type A = 1 | "b"',
    'import a from "b"',
    'throw new RangeError("too large")',
    'const x = { description: "for readers" }',
    'const x = ["Requests per minute and key."]',
    'const x = y as unknown as 1',
  ])('leave out what does not run or is for readers: %s', (text) => {
    expect(changed(text)).toEqual([])
  })

  it('are programs', () => {
    const text = 'export const f = async (a: number): Promise<number> => (a < 3 ? await g(a + 1) : a ?? 0)'
    const all = createMutants(FILE, text)
    expect(all.length).toBeGreaterThan(5)
    expect(all.every((mutant) => parses(FILE, applyTo(text, mutant)))).toBe(true)
  })

  it('have names that do not change when other lines are added', () => {
    const text = 'function f() { a(1); a(1) }'
    const keys = (source: string) => createMutants(FILE, source).map(({ key }) => key)
    expect(new Set(keys(text)).size).toBe(keys(text).length)
    expect(keys(`// a comment\n\nconst other = b\n${text}`)).toEqual(keys(text))
  })
})

describe('the mutants of a function of PostgreSQL', () => {
  const SQL = 'src/database/functions/f.sql'

  it.each([
    ['WHERE a = b', ['WHERE a <> b']],
    ['IF a = 2 THEN', ['IF a <> 2 THEN', 'IF true THEN', 'IF false THEN']],
    ['WHERE NOT a.b', ['WHERE a.b']],
    ['SET a = a + 1', ['SET a = a - 1']],
    ['a := b OR c;', ['a := b AND c;']],
    ['-- A comment: a < b AND c.\na := 1;', []],
  ])('are, for %s', (text, expected) => {
    const all = createMutants(SQL, text).map((mutant) => applyTo(text, mutant))
    expect(all.toSorted()).toEqual(expected.toSorted())
  })

  it('have names with what is around them in their line', () => {
    expect(createMutants(SQL, 'x;\n  IF a OR b THEN').map(({ key }) => key)).toContain(
      `${SQL} | IF a [OR] b THEN | sql | OR → AND`,
    )
  })

  it('are not instrumented', () => {
    expect(instrument(SQL, 'IF a THEN')).toBe('IF a THEN')
  })
})

describe('an instrumented file', () => {
  it('notes each block that runs, once', () => {
    const text =
      'const f = (a: boolean) => { if (a) { b } else { c } }; const b = 1; const c = () => b; f(true); f(true)'
    const code = instrument(FILE, text)
    expect(parses(FILE, code)).toBe(true)
    expect(code).toContain('=> {__hit(26);')
    expect(code).toContain(`=> (__hit(${text.indexOf('() => b') + 6}),b)`)
    expect(code).toContain('function __hit(at)')
  })

  it('keeps its lines', () => {
    const text = 'const a = () => ({\n  b: 1,\n})\nfunction c() {\n  return a\n}\n'
    expect(instrument(FILE, text).split('\n')).toHaveLength(text.split('\n').length)
  })
})
