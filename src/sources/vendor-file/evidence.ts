import { findAmbiguity, isGeneral, toWords } from '../ambiguous-text.ts'
import { isAboutNoPerson } from '../reply.ts'
import { readDefault } from '../vendor-settings.ts'
import type { Condition, VendorFile, VendorRule } from './schema.ts'

/** What a caller is told as "not verified", or what stops the search: it needs words of the vendor. */
const NEED_EVIDENCE: readonly string[] = ['not_found', 'watch_listed', 'names_differ']

/** Why a rule could say "not verified" by mistake. */
export function* listEvidenceProblems(file: VendorFile, rule: VendorRule, place: string): Generator<string> {
  if (!NEED_EVIDENCE.includes(rule.then)) return
  if (!hasEvidence(rule.if))
    yield `${place}: ${rule.then} needs a text, or a value that is one of the vendor’s own. A wrong path, a proxy or a failure of the vendor has the same status or the same value, or lacks the same member.`
  for (const name of rule.if.text?.says ?? []) {
    if (NOT_ABOUT_PERSON.includes(name)) yield `${place}: a text of the list ${name} is not about a person.`
    yield* listAmbiguousTexts(file, name)
    yield* listAmbiguousPattern(file, name)
  }
}

/** Where web servers say what was wrong, as in {"error": "Not Found"}. */
const ERROR_PLACE =
  /(^|\.)errors?(\.|$)|(^|\.)(message|msg|detail|title|name|reason|description|status_?text)$/i

/** A zero is a failure or a success there. Elsewhere it may be the number of people who were found. */
const FLAG_PLACE = /(status|state|code|success(ful)?|ok|valid)$/i

/** The name alone says what a yes or no is about, as in {"found": false} and {"watchListed": true}. */
const VERDICT_PLACE = /(found|exists?|match(ed|es)?|mismatch|hits?|known|listed|blocked)$/i

const isEvidence = (at: string, value: unknown) =>
  VERDICT_PLACE.test(at) ||
  (!isGeneral(value) &&
    !(FLAG_PLACE.test(at) && /^0+$/.test(String(value))) &&
    !(ERROR_PLACE.test(at) && isAboutNoPerson(toWords(value))))

const hasEvidence = ({ text, values = [] }: Condition) =>
  text !== undefined || values.some(({ at, is }) => is?.every((value) => isEvidence(at, value)))

/** Lists that never mean that there is no such person. */
const NOT_ABOUT_PERSON = ['temporary', 'format', 'funds']

function* listAmbiguousTexts({ texts }: VendorFile, name: string): Generator<string> {
  for (const phrase of texts?.[name] ?? []) {
    const ambiguity = findAmbiguity(phrase)
    if (ambiguity !== undefined) yield `texts.${name} ${ambiguity}`
  }
}

const OTHER_TEXTS = ['Not found', 'Insufficient balance', 'Invalid API key', 'Internal server error']

function* listAmbiguousPattern({ settings }: VendorFile, name: string): Generator<string> {
  const setting = toSettingName(name)
  const { type, default: text } = settings?.[setting] ?? {}
  const problem = findPatternProblem(readDefault(type, text))
  if (problem !== undefined) yield `settings.${setting}.default ${problem}.`
}

const toSettingName = (name: string) => /^\{(.*)\}$/.exec(name)?.[1] ?? ''

function findPatternProblem(pattern: unknown): string | undefined {
  const held = pattern instanceof RegExp && OTHER_TEXTS.find((other) => pattern.test(other))
  return held ? `holds for "${held}": it cannot mean that there is no such person` : undefined
}

/** The first pattern of the operator by which a rule could say "not verified" by mistake: its setting, and why. */
export function findAmbiguousValue(
  { rules }: VendorFile,
  values: Readonly<Record<string, unknown>>,
): { readonly setting: string; readonly problem: string } | undefined {
  const names = Object.values(rules)
    .flat()
    .filter(({ then }) => NEED_EVIDENCE.includes(then))
    .flatMap((rule) => rule.if.text?.says ?? [])
  for (const setting of names.map(toSettingName)) {
    const problem = findPatternProblem(values[setting])
    if (problem !== undefined) return { setting, problem }
  }
  return undefined
}
