import { hash } from 'node:crypto'
import type { CatalogueFiles, InternetFile, TvFile } from '../contract/bundles.ts'
import { TV_TYPES } from '../contract/bundles.ts'
import { CatalogueFileError, parseInternetFile, parseTvFile } from './file.ts'

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
