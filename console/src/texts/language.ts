import { chooseLanguage, LANGUAGES } from './languages.ts'

const STORAGE_KEY = 'tabbat-language'

/** Absent in Node, where tests import texts. */
const html = (globalThis as { document?: { readonly documentElement: { lang: string } } }).document
  ?.documentElement

export const language = html ? chooseLanguage(localStorage.getItem(STORAGE_KEY), navigator.languages) : 'en'
export const LOCALE = LANGUAGES[language]?.locale ?? 'en-GB'

/** Loaded before the texts are defined, because every module with texts imports this one. English if loading fails. */
const translation = await LANGUAGES[language]?.load?.().catch(() => undefined)

if (html) html.lang = translation ? language : 'en-GB'

/** Takes effect when the page is loaded again. */
export const saveLanguage = (code: string) => localStorage.setItem(STORAGE_KEY, code)

/** The texts of one page, in the language of the user. The name is that of the file, and of the member of Translation. */
export const defineTexts = <T extends object>(name: string, english: T): T => pick(translation, name, english)

export const pick = <T extends object>(
  from: Readonly<Record<string, unknown>> | undefined,
  name: string,
  english: T,
): T => (from?.[name] as T | undefined) ?? english
