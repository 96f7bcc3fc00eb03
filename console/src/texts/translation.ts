import type { commonTexts } from './en/common.ts'
import type { overviewTexts } from './en/overview.ts'
import type { searchTexts } from './en/search.ts'
import type { shellTexts } from './en/shell.ts'
import type { sourcesTexts } from './en/sources.ts'

/** The same members with any text. A text with values in it is a function. */
export type Translated<T> = {
  readonly [Name in keyof T]: T[Name] extends string
    ? string
    : T[Name] extends (...values: infer Values) => string
      ? (...values: Values) => string
      : Translated<T[Name]>
}

/** All texts of the console: what a second language must have. One line for each file in texts/en. */
export type Translation = {
  readonly common: Translated<typeof commonTexts>
  readonly overview: Translated<typeof overviewTexts>
  readonly search: Translated<typeof searchTexts>
  readonly shell: Translated<typeof shellTexts>
  readonly sources: Translated<typeof sourcesTexts>
}
