/**
 * Words that stand where there is no value. "Null", "Nil" and "Na" are names of a few people. Their name is then empty, which says
 * less than the record; as a name, "N/A" would say something false of everybody else. "No" and "Nan" are usual names, and rarely mean
 * that there is none.
 */
const WORDS =
  /^(?:n ?[/\\] ?a|n\. ?a|na|null|undefined|nill?|none|unknown|unspecified|no (?:data|value)|not (?:available|applicable|provided|specified|stated|given|known|set))$/
/** Not "Na": the Hausa name Na Allah has it. Not "N.A.": beside a name, these are initials, as on cards ("OKAFOR N.A."). */
const WORDS_IN_NAMES = /^(?:n[/\\]a|null|undefined|nill?|none)$/i

/** Longer than every word, with brackets. */
const MAX_LENGTH = 24

/** Whether the text says that there is no value: empty, one of the words, or signs without a letter or digit. A masked value is one. */
export function saysNothing(text: string): boolean {
  if (!/[\p{L}\p{N}*]/u.test(text)) return true
  return (
    text.length <= MAX_LENGTH &&
    WORDS.test(
      toPlain(text)
        .replace(/^["'([{<]+|["')\]}>.]+$/g, '')
        .trim(),
    )
  )
}

const toPlain = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s_]+/g, ' ')
    .trim()

/** A name without the words for nothing in it: programs and clerks join the parts of "Ada null Obi". Empty without any letter. */
export function toName(text: string): string {
  const words = text.split(' ').filter((word) => word !== '')
  const left = words.filter((word) => !WORDS_IN_NAMES.test(word))
  const isName = !saysNothing(text) && left.some((word) => /[\p{L}*]/u.test(word) && !saysNothing(word))
  return isName ? left.join(' ') : ''
}

const NOT_LISTED =
  /^(?:no|n|false|0|clear|cleared|(?:is )?not (?:on )?(?:a |the |any )?(?:watch|black) ?list(?:ed)?|not (?:listed|on (?:a|the|any) list)|no (?:watch|black) ?list(?: entry| entries)?)$/

/** Whether the text of a watch list means that there is no entry. Any other text is an entry: dropping one would clear the person. */
export const saysNotListed = (text: string): boolean =>
  saysNothing(text) ||
  NOT_LISTED.test(
    toPlain(text)
      .replace(/-/g, ' ')
      .replace(/[ .]+$/, ''),
  )
