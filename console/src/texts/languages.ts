/** How a language of the console is loaded. */
type Language = {
  /** For dates and numbers. */
  readonly locale: string
  /** English is part of the pages, so it has nothing to load. The result has the type Translation of translation.ts. */
  readonly load?: () => Promise<Readonly<Record<string, unknown>>>
}

/**
 * The languages by their code. To add one: write texts/<code>/translation.ts with `export const translation: Translation`, and
 * a line here. `npm run check` fails while a text is missing.
 */
export const LANGUAGES: Readonly<Record<string, Language>> = {
  en: { locale: 'en-GB' },
}

/** The language that the user chose, else the first one that the browser prefers and the console has, else English. */
export const chooseLanguage = (
  chosen: string | null,
  preferred: readonly string[],
  known: readonly string[] = Object.keys(LANGUAGES),
): string =>
  [chosen, ...preferred.map((tag) => tag.split('-')[0]?.toLowerCase())].find(
    (code): code is string => typeof code === 'string' && known.includes(code),
  ) ?? 'en'
