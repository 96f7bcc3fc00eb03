import { commonTexts as texts } from './texts/en/common.ts'

/** The kinds of numbers that identify a person, as the options of a field. */
export const NUMBER_KINDS = [
  { value: 'nin', text: texts.nin },
  { value: 'bvn', text: texts.bvn },
] as const
