import { SETTINGS } from '../context/config.ts'
import { UserError } from '../errors.ts'
import { ConfigError, readGiven } from '../settings/environment.ts'
import { type Environment, readSettings } from '../settings/read-settings.ts'
import {
  type LoadedFile,
  loadVendorFile,
  loadVendors,
  type Vendor,
  type Vendors,
} from '../sources/vendors.ts'

export type KnownVendors = {
  readonly vendors: Vendors
  readonly given: Environment
  /** The kinds of look-ups for which a vendor is in a list of sources. */
  readonly usesOf: (name: string) => readonly string[]
  /** What is wrong with the vendor files of the operator. */
  readonly problems: readonly string[]
}

/** Works with settings of other parts that are missing or wrong. */
export function readKnownVendors(): KnownVendors {
  const given = readGiven()
  const { vendorsDir, ninSources, bvnSources, catalogueSources } = SETTINGS
  const values = readSettings({ vendorsDir, ninSources, bvnSources, catalogueSources }, given, [])
  const problems: string[] = []
  const vendors = loadVendors(values.vendorsDir as string | undefined, problems)
  const lists = { nin: values.ninSources, bvn: values.bvnSources, catalogue: values.catalogueSources }
  const usesOf = (name: string) =>
    Object.entries(lists).flatMap(([kind, names]) =>
      (names as readonly string[] | undefined)?.includes(name) ? [kind] : [],
    )
  return { vendors, given, usesOf, problems }
}

/** `choices` are the names that the caller takes. */
export function requireKnownVendor(
  { vendors, problems }: KnownVendors,
  name: string,
  choices: Iterable<string> = vendors.keys(),
): Vendor {
  const vendor = vendors.get(name)
  if (vendor) return vendor
  if (problems.length > 0) throw new ConfigError(problems)
  throw new UserError(`There is no such vendor. Choose one of ${[...choices].join(', ')}.`)
}

/** The folder with the vendor files of the operator. */
export const readVendorsFolder = (): string | undefined => readGiven()[SETTINGS.vendorsDir.env]

/** A vendor by its file or its name. */
export function requireVendorFile(fileOrName: string): LoadedFile {
  if (!isPath(fileOrName)) {
    const { loaded } = requireKnownVendor(readKnownVendors(), fileOrName)
    if (loaded) return loaded
    throw new UserError(`${fileOrName} is code: there is no file.`)
  }
  const loaded = loadVendorFile(fileOrName)
  if ('problems' in loaded) throw new ConfigError(loaded.problems)
  return loaded
}

const isPath = (text: string) => text.includes('/') || text.endsWith('.json')
