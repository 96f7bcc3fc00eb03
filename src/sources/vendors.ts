import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { assets, readAssetText } from '../assets/asset.ts'
import { refuseUntrustedPath, UntrustedPath } from '../crypto/trusted-path.ts'
import type { Settings, ValuesOf } from '../settings/setting.ts'
import { settings as baxi } from './baxi/settings.ts'
import { check as checkRelay, settings as relay } from './relay/settings.ts'
import type { CreateSource } from './source.ts'
import { checkVendorFile } from './vendor-file/check.ts'
import { findAmbiguousValue } from './vendor-file/evidence.ts'
import { type VendorFile, withoutComments } from './vendor-file/schema.ts'
import { toFileSettings } from './vendor-settings.ts'
import { settings as vtpass } from './vtpass/settings.ts'

export type Ability = 'nin' | 'bvn' | 'catalogue'

export type Vendor = {
  readonly name: string
  readonly title: string
  readonly abilities: readonly Ability[]
  readonly settings: Settings
  /** Loaded on demand: a server without vendors starts sooner. */
  readonly load: () => Promise<{ readonly create: CreateSource<Settings> }>
  /** What is wrong with the combination of settings, in one sentence. */
  readonly check?: ((values: Record<string, unknown>) => string | undefined) | undefined
  /** Absent for a vendor that is code. */
  readonly loaded?: LoadedFile
}

export type Vendors = ReadonlyMap<string, Vendor>

/** The code of a vendor names its own settings; here they are only passed on. */
const asSettled = ({ create }: { readonly create: unknown }) => ({ create: create as CreateSource<Settings> })

/** The vendors that no file can describe: docs/adr/0027 says why. */
const CODE_VENDORS: readonly Vendor[] = [
  {
    name: 'relay',
    title: 'Another server of this API',
    abilities: ['nin', 'bvn', 'catalogue'],
    settings: relay,
    load: () => import('./relay/index.ts').then(asSettled),
    check: checkRelay,
  },
  {
    name: 'vtpass',
    title: 'VTpass',
    abilities: ['catalogue'],
    settings: vtpass,
    load: () => import('./vtpass/index.ts').then(asSettled),
  },
  {
    name: 'baxi',
    title: 'Baxi',
    abilities: ['catalogue'],
    settings: baxi,
    load: () => import('./baxi/index.ts').then(asSettled),
  },
]

export const toFileVendor = (loaded: LoadedFile): Vendor => {
  const { name, file } = loaded
  const settings = toFileSettings(name, file)
  return {
    name,
    title: file.title,
    abilities: (['nin', 'bvn'] as const).filter((kind) => file.operations[kind]),
    settings,
    check: (values) => {
      const found = findAmbiguousValue(file, values)
      return found && `${settings[found.setting]?.env} ${found.problem}`
    },
    load: async () => {
      const { createFileSource } = await import('./vendor-file/create-source.ts')
      return { create: (values, deps) => createFileSource(name, file, values, deps) }
    },
    loaded,
  }
}

/** A vendor file and where it was read. */
export type LoadedFile = {
  readonly name: string
  readonly file: VendorFile
  /** As it is written, with remarks. */
  readonly text: string
  /** The path of a file of the operator; undefined for those that come with the program. */
  readonly path?: string | undefined
}

const FOLDER = 'vendors'
const SCHEMA = 'vendor.schema.json'

/** The files that come with the program. The tests check them. */
const loadShippedFiles = (): LoadedFile[] =>
  assets
    .list(FOLDER)
    .filter((path) => path.endsWith('.json') && path !== SCHEMA)
    .sort()
    .map((path) => {
      const text = readAssetText(`${FOLDER}/${path}`)
      return { name: basename(path, '.json'), text, file: withoutComments(JSON.parse(text) as VendorFile) }
    })

/** The paths of the vendor files in a folder of the operator. */
export function listVendorFiles(folder: string, problems: string[]): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json') && name !== SCHEMA)
      .sort()
      .map((name) => join(folder, name))
  } catch {
    problems.push(`TABBAT_VENDORS_DIR names ${folder}, which is not a folder that can be read`)
    return []
  }
}

/** The files of a folder of the operator. What is wrong with them is added to `problems`. */
const loadFolder = (folder: string, problems: string[]): LoadedFile[] =>
  listVendorFiles(folder, problems).flatMap((path) => {
    const loaded = loadVendorFile(path)
    if (!('problems' in loaded)) return [loaded]
    problems.push(...loaded.problems)
    return []
  })

const MAX_FILE_BYTES = 1024 * 1024
const NAME = /^[a-z][a-z0-9]{1,29}$/
/** Sources that are no vendors. */
const TAKEN = ['registry', 'sandbox']

export const isVendorName = (name: string) => NAME.test(name) && !TAKEN.includes(name)

/** One file, or what is wrong with it. */
export function loadVendorFile(path: string): LoadedFile | { readonly problems: readonly string[] } {
  const name = basename(path, '.json')
  const problem = (text: string) => ({ problems: [`${path}: ${text}`] })
  if (!isVendorName(name))
    return problem(
      'the name of the file is the name of the vendor: small letters and digits, such as acme.json.',
    )
  if (CODE_VENDORS.some((vendor) => vendor.name === name))
    return problem(`${name} is part of the program and cannot be replaced by a file: rename it.`)
  let content: unknown
  let text = ''
  try {
    // The file decides where credentials and numbers are sent.
    refuseUntrustedPath(path)
    const stats = statSync(path)
    // Reading a pipe would wait for its writer.
    if (!stats.isFile()) return problem('it is not a file.')
    if (stats.size > MAX_FILE_BYTES) return problem('it is larger than 1 MiB.')
    // Some editors begin a file with a byte order mark.
    text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
    content = JSON.parse(text)
  } catch (error) {
    if (error instanceof UntrustedPath) return { problems: [error.message] }
    if (error instanceof SyntaxError) return problem(`it is not JSON${toPlace(error)}.`)
    const { code } = error as NodeJS.ErrnoException
    return problem(code === 'ENOENT' ? 'there is no such file.' : `it cannot be read (${code}).`)
  }
  const { file, problems } = checkVendorFile(content) as { file?: VendorFile; problems?: readonly string[] }
  if (file) return { name, file, text, path }
  return { problems: (problems ?? []).map((text) => `${path}: ${text}`) }
}

/** Where it breaks off. The message itself repeats a piece of the file, which may be a saved answer of a vendor. */
const toPlace = ({ message }: SyntaxError) => {
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(message) ?? []
  return line === undefined ? '' : `: line ${line}, column ${column}`
}

const toMap = (vendors: readonly Vendor[]): Vendors => new Map(vendors.map((vendor) => [vendor.name, vendor]))

/** The vendors that come with the program. */
export const SHIPPED_VENDORS: Vendors = toMap([...loadShippedFiles().map(toFileVendor), ...CODE_VENDORS])

/** Those, and the files of the operator's folder, which replace others of the same name. */
export function loadVendors(folder: string | undefined, problems: string[]): Vendors {
  if (folder === undefined) return SHIPPED_VENDORS
  return toMap([...SHIPPED_VENDORS.values(), ...loadFolder(folder, problems).map(toFileVendor)])
}

export const namesWith = (ability: Ability, vendors = SHIPPED_VENDORS): string[] =>
  [...vendors.values()].filter(({ abilities }) => abilities.includes(ability)).map(({ name }) => name)

/** A vendor with its settings. `values` has what the vendor’s own settings are called. */
export type VendorInUse = {
  readonly vendor: Vendor
  readonly url: string
  /** Absent where calls are free. */
  readonly price?: number
  /** Where an operation has a price of its own. */
  readonly prices: { readonly nin?: number | undefined; readonly bvn?: number | undefined }
  readonly dailyCap?: number | undefined
  readonly connections?: number
  readonly values: ValuesOf<Settings>
}

/** The vendors that are in use. */
export type VendorValues = Readonly<Record<string, VendorInUse>>
