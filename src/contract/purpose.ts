import { holdsPersonNumber, PERSON_NUMBER_RULE } from './free-text.ts'

const PURPOSE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/

/** Completes the sentence "X-Purpose …". */
const PURPOSE_RULE = 'must be 1 to 40 letters, digits or . _ -, and begin with a letter or a digit'

/** Purposes are compared and stored in lower case. */
export const toPurpose = (text: string): string => text.trim().toLowerCase()

/** What is wrong with a purpose. `allowed` is undefined where any may be given. */
export function findPurposeProblem(
  purpose: string,
  allowed: readonly string[] | undefined,
): string | undefined {
  if (!PURPOSE.test(purpose)) return PURPOSE_RULE
  if (holdsPersonNumber(purpose)) return PERSON_NUMBER_RULE
  if (allowed && !allowed.includes(purpose)) return `must be one of ${allowed.join(', ')}`
  return undefined
}

/** The purpose as a part of the detail of an audit row. */
export const toPurposeDetail = (purpose: string) => `purpose: ${purpose}`

const IN_DETAIL = /(?:^|; )purpose: ([a-z0-9][a-z0-9._-]*)(?:;|$)/

export const readPurpose = (detail: string | null): string | undefined => IN_DETAIL.exec(detail ?? '')?.[1]
