import type { CatalogueFiles } from '../contract/bundles.ts'
import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import { CatalogueFileError } from './file.ts'

/** Control and format characters (also bidirectional ones), line breaks, unpaired surrogates. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u
/** Tags, and characters written as &lt; or &#60;. */
const MARKUP = /[<>]|&(?:#\d+|#x[\da-f]+|[a-z][\da-z]*);/i
const LONGEST = 200
const HIGHEST_PRICE = 999_999_999

/**
 * Imported lists are shown in web pages and terminals: text must be plain, and prices plausible. Lists stored before this
 * rule are still read. The message never repeats the text.
 */
export function refuseUnclean({ internet, tv }: CatalogueFiles): void {
  const named = [
    ...internet.map((list) => [list.segment, list] as const),
    ...tv.map((list) => [list.type.toLowerCase(), list] as const),
  ]
  const problems = named.flatMap(([name, list]) => {
    const problem = findProblem('', list)
    return problem === undefined ? [] : [`${name}.json: ${problem}.`]
  })
  if (problems.length > 0) throw new CatalogueFileError(problems.join('\n'))
}

/** The first problem of a list: path and rule. */
function findProblem(path: string, value: unknown): string | undefined {
  if (typeof value === 'string') {
    const rule = findRule(path.slice(path.lastIndexOf('/') + 1), value)
    return rule === undefined ? undefined : `${path} ${rule}`
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, inner] of Object.entries(value)) {
    const problem = findProblem(`${path}/${name}`, inner)
    if (problem !== undefined) return problem
  }
  return undefined
}

function findRule(field: string, text: string): string | undefined {
  if (UNSEEN.test(text)) return 'holds a control character, a line break or an invisible character'
  if (MARKUP.test(text)) return 'holds markup (<, > or an entity such as &lt;)'
  if (text.length > LONGEST) return `is longer than ${LONGEST} characters`
  if (field === 'price' && !(Number(text) > 0 && Number(text) <= HIGHEST_PRICE))
    return `must be a price above 0 and of at most ${HIGHEST_PRICE}`
  if (field === 'note' && holdsPersonNumber(text)) return PERSON_NUMBER_RULE
  return undefined
}
