import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CatalogueFolder, SME, TV, toInternetFiles } from '../../src/catalogue/catalogue.ts'
import {
  CatalogueFileError,
  parseInternetFile,
  parseShape,
  parseTvFile,
  requireThat,
  requireUniqueCodes,
} from '../../src/catalogue/content.ts'
import { SmeFile } from '../../src/contract/bundles.ts'

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

const SME_SIZES = (
  '50MB 150MB 250MB 500MB 1GB 2GB 3GB 5GB 10GB 12GB 15GB 20GB ' +
  '25GB 30GB 40GB 50GB 60GB 70GB 75GB 80GB 90GB 100GB'
).split(' ')

/** The contract fixes this list. */
function parseSmeFile(file: string, content: unknown): SmeFile {
  const parsed = parseShape(SmeFile, file, content)
  requireUniqueCodes(file, '/bundles', parsed.bundles)
  const count = SME_SIZES.length
  requireThat(parsed.bundles.length === count, file, '/bundles', `must list the contract's ${count} sizes`)
  for (const [index, size] of SME_SIZES.entries()) {
    const bundle = parsed.bundles[index]
    const fits =
      bundle?.description === `SME DATA ${size}` && bundle.code === `sme_data_${size.toLowerCase()}`
    requireThat(fits, file, `/bundles/${index}`, `must be the contract's ${size} bundle`)
  }
  return parsed
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
