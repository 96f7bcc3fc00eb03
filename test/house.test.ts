import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
const textOf = (file: string) => readFileSync(file, 'utf8')

/** What a file imports at run time, as paths in src/ or names of packages. Types may come from anywhere. */
const importsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/^import (?!type )[^'"]*?['"]([^'"]+)['"]/gms)]
    .map(([, target = '']) => target)
    .map((target) => (target.startsWith('.') ? relative('src', join(dirname(file), target)) : target))

const within = (room: string) => files.filter((file) => relative('src', file).startsWith(room))

describe.each([
  ['store/', /^(store\/|assets\/|errors|node:|pg$)/],
  ['contract/', /^(contract\/|errors|typebox)/],
  ['crypto/', /^(crypto\/|errors|node:)/],
  ['errors.ts', /^$/],
  ['sources/', /^(sources\/|contract\/|errors|settings|crypto\/|ajv|node:|undici)/],
  ['operations/', /^(operations\/|contract\/|verification\/|errors|node:crypto)/],
  ['verification/', /^(verification\/|contract\/|crypto\/|sources\/|errors|node:crypto)/],
])('%s', (room, allowed) => {
  it('imports only what lies beneath it', () => {
    expect(within(room).length).toBeGreaterThan(0)
    for (const file of within(room))
      for (const target of importsOf(file)) expect(target, file).toMatch(allowed)
  })
})

describe('every boundary has one file that crosses it', () => {
  it.each([
    ['reads the environment', /process\.env\b/, /^config\.ts$/],
    ['speaks SQL', /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b.*(\$1|FROM|VALUES)/, /^store\//],
    ['calls out', /\bfetch\(|from 'undici'/, /^sources\/http\.ts$/],
  ])('only one place %s', (_what, sign, allowed) => {
    for (const file of files) if (sign.test(textOf(file))) expect(relative('src', file)).toMatch(allowed)
  })
})

it('has no room without a name of its own', () => {
  const nameless = /(^|\/)(utils?|helpers?|common|types|dto|services|controllers|managers)(\/|\.ts$)/
  for (const file of files) expect(file).not.toMatch(nameless)
})
