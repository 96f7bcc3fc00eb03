import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fill } from '../../console/src/texts/fill.ts'
import { pick } from '../../console/src/texts/language.ts'
import { chooseLanguage, LANGUAGES } from '../../console/src/texts/languages.ts'
import type { Translated } from '../../console/src/texts/translation.ts'

const FOLDER = 'console/src/texts'

type Texts = { readonly [name: string]: string | ((...values: never[]) => string) | Texts }

/** The exports of texts/en, by the name of their file in camel case. */
async function loadEnglish(): Promise<Texts> {
  const files = globSync(`${FOLDER}/en/*.ts`)
  const entries = files.map(async (file) => {
    const module = (await import(join(process.cwd(), file))) as Record<string, Texts>
    const name = toCamelCase(basename(file, '.ts'))
    expect(Object.keys(module), `${file} exports one object`).toEqual([`${name}Texts`])
    return [name, module[`${name}Texts`] as Texts] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

const toCamelCase = (name: string) => name.replace(/-(.)/g, (_match, letter: string) => letter.toUpperCase())

/** `shell.pages.keys: text`, `shell.toTitle: 1 value` */
function listTexts(texts: Texts, path: readonly string[] = []): string[] {
  return Object.entries(texts).flatMap(([name, text]) => {
    const here = [...path, name]
    if (typeof text === 'object') return listTexts(text, here)
    return `${here.join('.')}: ${typeof text === 'string' ? 'text' : `${text.length} values`}`
  })
}

describe('the texts of the console', () => {
  it('have a member of Translation and the name of their file', async () => {
    const declared = readFileSync(`${FOLDER}/translation.ts`, 'utf8')
    for (const file of globSync(`${FOLDER}/en/*.ts`)) {
      const name = toCamelCase(basename(file, '.ts'))
      expect(declared).toContain(`readonly ${name}: Translated<typeof ${name}Texts>`)
      expect(readFileSync(file, 'utf8')).toContain(`${name}Texts = defineTexts('${name}', {`)
    }
    expect(listTexts(await loadEnglish()).length).toBeGreaterThan(30)
  })

  const others = Object.keys(LANGUAGES).filter((code) => code !== 'en')
  it('are complete in every language', async () => {
    const english = listTexts(await loadEnglish()).sort()
    for (const code of others) {
      const translation = (await LANGUAGES[code]?.load?.()) as Texts
      expect(listTexts(translation).sort(), code).toEqual(english)
    }
    const folders = globSync(`${FOLDER}/*/`).map((folder) => basename(folder))
    expect(folders.sort()).toEqual(['en', ...others].sort())
  })

  it('cannot be incomplete in a second language: the type refuses it', () => {
    const english = { title: 'Keys', toCount: (count: number) => `${count} keys`, inner: { save: 'Save' } }
    type Second = Translated<typeof english>
    const complete: Second = { title: 'Mabuɗai', toCount: (count) => `${count}`, inner: { save: 'Ajiye' } }
    // @ts-expect-error A text is missing.
    const missing: Second = { title: 'Mabuɗai', toCount: (count) => `${count}`, inner: {} }
    // @ts-expect-error A text is unknown.
    const unknown: Second = { ...complete, inner: { save: 'Ajiye', other: '' } }
    expect(listTexts(complete)).toEqual(listTexts(english))
    for (const other of [missing, unknown]) expect(listTexts(other)).not.toEqual(listTexts(english))
  })

  it('come from the translation, if there is one', () => {
    const english = { title: 'Keys' }
    expect(pick(undefined, 'keys', english)).toBe(english)
    expect(pick({ keys: { title: 'Mabuɗai' } }, 'keys', english).title).toBe('Mabuɗai')
    expect(pick({}, 'keys', english)).toBe(english)
  })

  it.each([
    [null, ['ha-NG', 'en'], 'ha'],
    ['en', ['ha'], 'en'],
    ['unknown', ['fr', 'HA'], 'ha'],
    [null, [], 'en'],
  ] as const)(
    'are in the language that was chosen (%s), else one of the browser (%s): %s',
    (chosen, preferred, code) => {
      expect(chooseLanguage(chosen, preferred, ['en', 'ha'])).toBe(code)
    },
  )

  it('have places for elements', () => {
    expect(fill('See {link} or {other}.', { link: 1, other: 2 })).toEqual(['See ', 1, ' or ', 2, '.'])
  })
})
