import { holdsPersonNumber, PERSON_NUMBER_RULE } from './free-text.ts'

/** Why a person did something, for the audit log: it must not contain a NIN, BVN or phone. */
export type Reason = { readonly reason: string } | { readonly problem: string }

/** `problem` completes the sentence "reason …". */
export function readReason(text: string): Reason {
  const reason = text.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
  if (reason.length < 10 || reason.length > 200) return { problem: 'must have 10 to 200 characters' }
  return holdsPersonNumber(reason) ? { problem: PERSON_NUMBER_RULE } : { reason }
}
