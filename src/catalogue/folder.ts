import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assets, readAssetText } from '../assets/asset.ts'
import type { InternetFile, SmeFile, TvFile } from '../contract/bundles.ts'
import { TV_TYPES } from '../contract/bundles.ts'
import { CatalogueFileError, parseInternetFile, parseSmeFile, parseTvFile } from './file.ts'

export type CatalogueFolder = {
  readonly internet: readonly InternetFile[]
  readonly sme: SmeFile
  readonly tv: readonly TvFile[]
}

/** The path in the repository. */
const SHIPPED_FOLDER = 'src/catalogue/data'

const SME = 'sme.json'
const TV = TV_TYPES.map((type) => `${type.toLowerCase()}.json`)

/**
 * Reads and validates all lists of a folder. The name of a file says what it holds: the SME list, a TV provider,
 * or else an internet provider. A new internet provider only needs a new file.
 */
export function readFolder(folder: string): CatalogueFolder {
  const problems: string[] = []

  // Collects the first problem of every file, so that an operator can fix all of them at once.
  const read = <T>(file: string, parse: (file: string, content: unknown) => T): T[] => {
    try {
      return [parse(file, readJson(folder, file))]
    } catch (error) {
      if (!(error instanceof CatalogueFileError)) throw error
      problems.push(error.message)
      return []
    }
  }

  const internet = toInternetFiles(readdirSync(folder)).flatMap((file) => read(file, parseInternetFile))
  const [sme] = read(SME, parseSmeFile)
  const tv = TV.flatMap((file) => read(file, parseTvFile))
  if (sme === undefined || problems.length > 0) throw new CatalogueFileError(problems.join('\n'))
  return { internet, sme, tv }
}

/** The lists that ship with the program. Not validated here: the tests do that. */
export function readShippedFolder(): CatalogueFolder {
  const read = <T>(file: string) => JSON.parse(readAssetText(`${SHIPPED_FOLDER}/${file}`)) as T
  return {
    internet: toInternetFiles(assets.list(SHIPPED_FOLDER)).map((file) => read<InternetFile>(file)),
    sme: read<SmeFile>(SME),
    tv: TV.map((file) => read<TvFile>(file)),
  }
}

function toInternetFiles(names: readonly string[]) {
  return names
    .filter((file) => file.endsWith('.json') && !file.startsWith('.') && file !== SME && !TV.includes(file))
    .sort()
}

function readJson(folder: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(join(folder, file), 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new CatalogueFileError(`${file}: the file is not JSON: ${error.message}.`)
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (missing) throw new CatalogueFileError(`${file}: the file is missing.`)
    throw error
  }
}
