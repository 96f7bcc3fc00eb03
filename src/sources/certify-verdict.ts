import { holdsPersonNumber } from '../contract/free-text.ts'
import type { HttpReply } from './source.ts'
import { compileErrorText } from './vendor-file/rules.ts'
import type { VendorFile } from './vendor-file/schema.ts'

/** What is tried with a vendor, in this order. */
export const STEPS = [
  'found',
  'wrong_phone',
  'unknown_number',
  'malformed_number',
  'wrong_credentials',
] as const
export type Step = (typeof STEPS)[number]

/**
 * `contradicts`: the vendor answered, and the file does not say what the answer means, or says something else. `not_proved`: there was
 * no answer from which anything follows.
 */
export type Verdict = 'proved' | 'contradicts' | 'not_proved' | 'not_needed' | 'left_out'

type Judged = { readonly step: Step; readonly outcome: string; readonly verdict: Verdict }

/** The outcomes of a call that prove the file right. */
const EXPECTED: Readonly<Record<Step, readonly string[]>> = {
  found: ['found'],
  wrong_phone: ['other_phone', 'not_found'],
  unknown_number: ['not_found'],
  malformed_number: ['rejected', 'not_found'],
  wrong_credentials: ['credentials', 'unknown_account'],
}

/** Answers about which the file is wrong if they were not expected. All others are problems of the network, the account or the vendor. */
const ABOUT_FILE = [
  'found',
  'other_phone',
  'not_found',
  'not_json',
  'unknown_shape',
  'contradictory',
  'wrong_person',
  'no_phone',
  'unreadable_phone',
  'mixed_phones',
  'rejected',
  'unknown_path',
  'unlisted',
]

export function toVerdict(step: Step, outcome: string): Verdict {
  if (EXPECTED[step].includes(outcome)) return 'proved'
  if (!ABOUT_FILE.includes(outcome)) return 'not_proved'
  const isAnswer = outcome === 'found' || outcome === 'other_phone'
  return step === 'malformed_number' && !isAnswer ? 'not_proved' : 'contradicts'
}

const NO_RECORD_EXPECTED =
  'The vendor gave a record for a number that no person has. Perhaps the address is that of a sandbox.'
const UNRECOGNISED = 'No rule says what this answer means, so it is a failure of the vendor.'

const HARMLESS = `${UNRECOGNISED} That does no harm: Tabbat never sends such a number.`

const EXPLANATIONS: Readonly<Record<Step, Readonly<Record<string, string>>>> = {
  found: {
    found: 'The record was read, and its phone is the given one.',
    other_phone:
      'The record has another phone. Either the given phone is not that of this number, or the file looks for phones in the wrong place.',
    not_found:
      'The vendor says that there is no such person. If the number is right, this rule is wrong: it turns people away.',
    names_differ: 'The vendor says that the person has other names. Repeat it with the names of the record.',
    watch_listed: 'The vendor says that the number is blocked. Repeat it with another person.',
  },
  wrong_phone: {
    found: 'The vendor says that the other phone is that of the person.',
    other_phone: 'The vendor gave the record although the phone is another: Tabbat compares it.',
    not_found: 'The vendor compares the phone, and says that it differs.',
  },
  unknown_number: {
    not_found: 'The vendor says that there is no such person.',
    found: NO_RECORD_EXPECTED,
    other_phone: NO_RECORD_EXPECTED,
    unlisted: `${UNRECOGNISED} If it means that there is no such person, a rule must say so.`,
  },
  malformed_number: {
    rejected: 'The vendor complains about the number, and this is not read as an answer about a person.',
    not_found: 'The vendor says that there is no such person, which is true.',
    found: 'The vendor gave a record for a number that is too short.',
    other_phone: 'The vendor gave a record for a number that is too short.',
    unlisted: HARMLESS,
    unknown_path: HARMLESS,
    unknown_shape: HARMLESS,
  },
  wrong_credentials: {
    credentials: 'The vendor refuses a wrong secret, and this is read as such.',
    unknown_account: 'The vendor refuses a wrong secret, and this is read as such.',
    not_found:
      'A wrong secret is read as "no such person". Do not use this file: it turns people away when the secret changes.',
    found: 'The vendor gave a record although the secret is wrong. Ask the vendor about it.',
    other_phone: 'The vendor gave a record although the secret is wrong. Ask the vendor about it.',
    unlisted: `${UNRECOGNISED} A rule should say that the credentials are refused.`,
  },
}

/** One sentence about the result of a step. `otherwise` is that of the failure. */
export const explainStep = ({ step, outcome, otherwise }: Judged & { readonly otherwise: string }): string =>
  EXPLANATIONS[step][outcome] ?? otherwise

const MEANINGS: Readonly<Partial<Record<Step, readonly [then: string, name: string]>>> = {
  unknown_number: ['not_found', 'no such person'],
  wrong_phone: ['not_found', 'other phone'],
  wrong_credentials: ['refused', 'wrong credentials'],
}

/**
 * The lines that would make the file understand an answer. They contain the text of the vendor, so they are for the terminal of the
 * operator only, and the text is left out where the question was about the person.
 */
export function adviseRule(
  { step, verdict, outcome }: Judged,
  { status, body }: HttpReply,
  { file, number }: { readonly file: VendorFile; readonly number: string },
): string | undefined {
  const meaning = MEANINGS[step]
  if (verdict !== 'contradicts' || !meaning || outcome === 'found' || outcome === 'other_phone')
    return undefined
  const [then, name] = meaning
  const text = compileErrorText(file)(body).replaceAll(number, '{number}').slice(0, 200)
  if (text === '' || step === 'wrong_phone' || holdsPersonNumber(text))
    return `If it means "${name}", add a rule with "then": "${then}", whose condition names a value that only this answer has.`
  const list = name.replaceAll(' ', '_')
  const rule = { name: `${name}, as answered`, if: { status: [status], text: { says: [list] } }, then }
  return `If it means "${name}", add these to the file:\n  "texts": {"${list}": ${JSON.stringify([text])}}\n  "rules": ${JSON.stringify(rule)}`
}
