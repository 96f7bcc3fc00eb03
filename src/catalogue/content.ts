import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import type { Ajv, ErrorObject } from 'ajv'
import { AS_OF_RULE, type CatalogueFiles, InternetFile, TV_TYPES, TvFile } from '../contract/bundles.ts'
import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import type { Static, TSchema } from '../contract/schema.ts'
import { UserError } from '../errors.ts'

/** The content of a version: the lists as JSON, and a digest to compare versions. */
export type Content = { readonly content: string; readonly digest: string }

export function toContent({ internet, tv }: CatalogueFiles): Content {
  const content = JSON.stringify({ internet, tv })
  return { content, digest: hash('sha256', content) }
}

/** Checks imported lists by the rules of the shipped files. The error has one sentence per invalid list. */
export function parseFiles(content: unknown): CatalogueFiles {
  const { internet, tv, ...others } = (content ?? {}) as Record<string, unknown>
  if (!Array.isArray(internet) || !Array.isArray(tv) || Object.keys(others).length > 0)
    throw new CatalogueFileError('The lists must be an object with "internet" and "tv", and nothing else.')
  const problems: string[] = []
  const parseAll = <T>(lists: readonly unknown[], parse: (list: unknown) => T): T[] =>
    lists.flatMap((list) => {
      try {
        return [parse(list)]
      } catch (error) {
        if (!(error instanceof CatalogueFileError)) throw error
        problems.push(error.message)
        return []
      }
    })
  const files = { internet: parseAll(internet, parseInternet), tv: parseAll(tv, parseTv) }
  problems.push(...listRepeated(files))
  if (problems.length > 0) throw new CatalogueFileError(problems.join('\n'))
  return files
}

/** One list, internet or TV. */
export const parseList = (list: unknown): CatalogueFiles =>
  typeof list === 'object' && list !== null && 'segment' in list
    ? { internet: [parseInternet(list)], tv: [] }
    : { internet: [], tv: [parseTv(list)] }

/** Names of other lists. */
const TAKEN: readonly string[] = ['sme', ...TV_TYPES.map((type) => type.toLowerCase())]

function parseInternet(list: unknown): InternetFile {
  const name = nameOf(list, 'segment')
  const parsed = parseInternetFile(`${name}.json`, list)
  if (TAKEN.includes(name))
    throw new CatalogueFileError(`${name}.json: /segment is the name of another list.`)
  return parsed
}

const parseTv = (list: unknown): TvFile => parseTvFile(`${nameOf(list, 'type').toLowerCase()}.json`, list)

/** The parsers need a file name; they report a missing field themselves. */
function nameOf(list: unknown, field: string): string {
  const name = (list as Record<string, unknown> | null)?.[field]
  return typeof name === 'string' && /^[\w-]{1,40}$/.test(name) ? name : 'list'
}

function listRepeated({ internet, tv }: CatalogueFiles): string[] {
  const names = [...internet.map(({ segment }) => segment), ...tv.map(({ type }) => type.toLowerCase())]
  const repeated = names.filter((name, index) => names.indexOf(name) !== index)
  return [...new Set(repeated)].map((name) => `${name}.json: the list occurs more than once.`)
}

/** The new lists in place of the old ones of the same name; the others stay. */
export function mergeFiles(current: CatalogueFiles, fresh: CatalogueFiles): CatalogueFiles {
  return {
    internet: replaceBy(({ segment }) => segment, current.internet, fresh.internet),
    tv: replaceBy(({ type }) => type, current.tv, fresh.tv),
  }
}

function replaceBy<T>(toName: (list: T) => string, current: readonly T[], fresh: readonly T[]): T[] {
  const byName = new Map([...current, ...fresh].map((list) => [toName(list), list]))
  return [...byName.values()]
}

/** A sentence for the operator: which file, where in it, what is wrong. */
export class CatalogueFileError extends UserError {
  override readonly name = 'CatalogueFileError'
}

export function parseInternetFile(file: string, content: unknown): InternetFile {
  const parsed = parseShape(InternetFile, file, content)
  // One file per segment, named after it: two files can then never claim the same segment.
  requireThat(parsed.segment === basename(file, '.json'), file, '/segment', 'must equal the name of the file')
  requireUniqueCodes(file, '/bundles', parsed.bundles)
  return parsed
}

export function parseTvFile(file: string, content: unknown): TvFile {
  const parsed = parseShape(TvFile, file, content)
  const named = parsed.type.toLowerCase() === basename(file, '.json')
  requireThat(named, file, '/type', 'must equal the name of the file in upper case')
  requireUniqueCodes(file, '/products', parsed.products)
  requireUniqueCodes(file, '/add_ons', parsed.add_ons)
  const known = new Set(parsed.products.map((product) => product.code))
  for (const [index, addOn] of parsed.add_ons.entries()) {
    const unknown = addOn.products.find((code) => !known.has(code))
    const path = `/add_ons/${index}/products`
    requireThat(unknown === undefined, file, path, `names "${unknown}", which is not a product of this file`)
  }
  return parsed
}

const require = createRequire(import.meta.url)
let validator: Ajv | undefined

/** Loaded when a list is checked: with the shipped lists, a server starts sooner without it. */
function openValidator(): Ajv {
  validator ??= new (require('ajv') as typeof import('ajv')).Ajv({ strict: false, verbose: true })
  return validator
}

export function parseShape<T extends TSchema & { properties: unknown }>(
  shape: T,
  file: string,
  content: unknown,
): Static<T> {
  const ajv = openValidator()
  if (!ajv.validate(shape, content)) throw shapeError(file, ajv.errors?.[0])
  const { as_of } = content as { as_of: string }
  requireThat(isRealDate(as_of), file, '/as_of', `${AS_OF_RULE}, not "${as_of}"`)
  return content as Static<T>
}

/** Our own rule where the shape has one, else what is missing, unknown or of the wrong type. */
function shapeError(file: string, problem: ErrorObject | undefined): CatalogueFileError {
  const { instancePath = '', keyword, params, message = 'does not fit' } = problem ?? {}
  const rule = (problem?.parentSchema as { 'x-rule'?: string } | undefined)?.['x-rule']
  if (keyword === 'additionalProperties')
    return fileError(file, `${instancePath}/${params?.additionalProperty}`, 'is not a known field')
  if (keyword === 'required')
    return fileError(file, `${instancePath}/${params?.missingProperty}`, 'is missing')
  if (rule === undefined || keyword === 'type') return fileError(file, instancePath, message)
  return fileError(file, instancePath, `${rule}, not ${JSON.stringify(problem?.data)}`)
}

export function requireUniqueCodes(file: string, path: string, items: readonly { code: string }[]) {
  const seen = new Set<string>()
  for (const [index, { code }] of items.entries()) {
    const key = code.toLowerCase()
    requireThat(
      !seen.has(key),
      file,
      `${path}/${index}/code`,
      `repeats the code "${code}" (case does not count)`,
    )
    seen.add(key)
  }
}

export function requireThat(holds: boolean, file: string, path: string, what: string) {
  if (!holds) throw fileError(file, path, what)
}

function fileError(file: string, path: string, what: string) {
  return new CatalogueFileError(`${file}: ${path === '' ? 'the file' : path} ${what}.`)
}

function isRealDate(value: string) {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN
  // February 30 is parsed as a day in March, so the parsed date must equal the text.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value)
}

/** Control and format characters (also bidirectional ones), line breaks, unpaired surrogates. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u
/** Tags, and characters written as &lt; or &#60;. */
const MARKUP = /[<>]|&(?:#\d+|#x[\da-f]+|[a-z][\da-z]*);/i
const MAX_LENGTH = 200
const MAX_PRICE = 999_999_999

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
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`
  if (field === 'price' && !(Number(text) > 0 && Number(text) <= MAX_PRICE))
    return `must be a price above 0 and of at most ${MAX_PRICE}`
  if (field === 'note' && holdsPersonNumber(text)) return PERSON_NUMBER_RULE
  return undefined
}
