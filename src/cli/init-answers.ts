import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { SETTINGS } from '../context/config.ts'
import { refuseUntrustedPath } from '../crypto/trusted-path.ts'
import { UserError } from '../errors.ts'
import { toEnvBlock } from '../settings/env-file.ts'
import { readEnvFile, readEnvironment, withoutEmpty } from '../settings/environment.ts'
import { InvalidSetting, type Setting } from '../settings/setting.ts'
import type { Vendor } from '../sources/vendors.ts'
import { readKnownVendors, requireKnownVendor } from './known-vendors.ts'
import { requireOutput } from './output-path.ts'
import { isInteractive, readSecret, readText } from './prompt.ts'

export const ENV_FILE = '.env'

/** What answers requests, and what the first key is for. */
export const INIT_MODES = {
  trial: 'synthetic people; no account and no records are needed',
  records: 'your own records, imported from a file',
  vendor: 'a licensed vendor that you have an account with',
} as const
type InitMode = keyof typeof INIT_MODES

export type InitOptions = {
  mode?: InitMode
  vendor?: string
  dataDir?: string
  port?: string
  adminPort?: string
  yes?: true
  json?: true
}

/** The settings that are written, by their variables. Vendor credentials may be empty. */
export type Answers = {
  readonly mode: InitMode
  readonly vendor?: Vendor
  readonly values: Map<string, string>
}

/** Something that cannot be asked without a terminal. */
export class MissingAnswer extends UserError {}

export function refuseContradiction({ mode, vendor, yes }: InitOptions): void {
  if (vendor !== undefined && mode !== undefined && mode !== 'vendor')
    throw new UserError(`--vendor does not go with --mode ${mode}. Leave one of them out.`)
  if (yes || isInteractive()) {
    if (yes && mode === 'vendor' && vendor === undefined && !existsSync(ENV_FILE))
      throw new MissingAnswer(`Give the vendor: --vendor ${listVendors()[0]?.name}, or another one.`)
    return
  }
  throw new MissingAnswer(
    'There is no terminal to ask on. Give --yes, and the answers as options: tabbat help init',
  )
}

const listVendors = (): Vendor[] =>
  [...readKnownVendors().vendors.values()].filter(({ abilities }) => toKinds(abilities).length > 0)

const toKinds = (abilities: Vendor['abilities']) =>
  (['nin', 'bvn'] as const).filter((kind) => abilities.includes(kind))

/** All questions come first: Ctrl-C leaves nothing behind. */
export async function ask(options: InitOptions): Promise<Answers> {
  refuseUntrustedPath(ENV_FILE)
  requireOutput(ENV_FILE, false)
  const isAsking = !options.yes && isInteractive()
  const mode = options.mode ?? (options.vendor ? 'vendor' : isAsking ? await askMode() : 'trial')
  const vendor = mode === 'vendor' ? requireVendor(options.vendor ?? (await askVendor())) : undefined
  const values = new Map([
    ...toSourceValues(mode, vendor),
    ...(await askCredentials(vendor, isAsking)),
    ...(await askPlaces(options, isAsking)),
  ])
  refuseOverridden(values)
  return { mode, ...(vendor && { vendor }), values }
}

type Values = [env: string, value: string][]

async function askCredentials(vendor: Vendor | undefined, isAsking: boolean): Promise<Values> {
  const values: Values = []
  for (const entry of vendor ? listCredentials(vendor) : [])
    values.push([entry.env, isAsking && !isSet(entry) ? await askCredential(entry) : ''])
  return values
}

/** The setting of each option for a folder or a port, and the question for it. */
const PLACES = [
  ['dataDir', 'Folder of the database and the root key'],
  ['port', 'Port of the API'],
  ['adminPort', 'Port of the console'],
] as const

async function askPlaces(options: InitOptions, isAsking: boolean): Promise<Values> {
  const values: Values = []
  for (const [name, question] of PLACES) {
    const entry = SETTINGS[name]
    const usual = withoutEmpty(readEnvironment())[entry.env] ?? entry.fallback ?? ''
    values.push([entry.env, options[name] ?? (isAsking ? await askValue(entry, question, usual) : usual)])
  }
  return values
}

/** A choice by its number or its name. */
async function askMode(): Promise<InitMode> {
  const names = Object.keys(INIT_MODES) as InitMode[]
  const lines = names.map((name, index) => `  ${index + 1}  ${name.padEnd(8)} ${INIT_MODES[name]}\n`)
  process.stderr.write(`What answers the requests?\n${lines.join('')}`)
  for (;;) {
    const text = (await readText('Number or name [1]: ')).toLowerCase() || '1'
    const found = names.find((name, index) => text === name || text === String(index + 1))
    if (found) return found
    process.stderr.write(`Type a number from 1 to ${names.length}.\n`)
  }
}

async function askVendor(): Promise<string> {
  const names = listVendors().map(({ name }) => name)
  process.stderr.write(`Vendors: ${names.join(', ')}\n`)
  for (;;) {
    const text = (await readText('Vendor: ')).toLowerCase()
    if (names.includes(text)) return text
    process.stderr.write('Type one of these names.\n')
  }
}

function requireVendor(name: string): Vendor {
  const choices = listVendors().map((each) => each.name)
  const vendor = requireKnownVendor(readKnownVendors(), name, choices)
  if (choices.includes(vendor.name)) return vendor
  throw new UserError(`${name} has lists of bundles only. Choose one of ${choices.join(', ')}.`)
}

/** What a vendor cannot work without. */
const listCredentials = ({ settings }: Vendor): Setting<unknown>[] =>
  Object.values(settings).filter(({ required }) => required)

const isSet = ({ env }: Setting<unknown>) =>
  [env, `${env}_FILE`].some((name) => withoutEmpty(readEnvironment())[name])

function askCredential(entry: Setting<unknown>): Promise<string> {
  process.stderr.write(`${entry.help}\n`)
  const hint = entry.secret ? 'not shown, empty: later' : 'empty: later'
  const read = entry.secret ? readSecret : readText
  return askUntilValid(entry, async () => (await read(`${entry.env} (${hint}): `)).trim())
}

const askValue = (entry: Setting<unknown>, question: string, usual: string) =>
  askUntilValid(entry, async () => (await readText(`${question} [${usual}]: `)) || usual)

async function askUntilValid(entry: Setting<unknown>, read: () => Promise<string>): Promise<string> {
  for (;;) {
    const text = await read()
    try {
      if (text !== '') entry.read(text)
      // A value that a file cannot hold is refused now, and not when the file is written.
      toEnvBlock(entry, text)
      return text
    } catch (error) {
      if (error instanceof UserError) process.stderr.write(`${error.message}\n`)
      else if (error instanceof InvalidSetting) process.stderr.write(`It ${error.message}.\n`)
      else throw error
    }
  }
}

function toSourceValues(mode: InitMode, vendor: Vendor | undefined): [string, string][] {
  if (mode === 'trial') return []
  const lists = [SETTINGS.ninSources, SETTINGS.bvnSources] as const
  const names = (['nin', 'bvn'] as const).map((kind) =>
    vendor?.abilities.includes(kind) ? vendor.name : 'registry',
  )
  return [
    ...lists.map(({ env }, index): [string, string] => [env, names[index] ?? '']),
    [SETTINGS.sandbox.env, 'off'],
  ]
}

/** The environment would win over the file, now and whenever the server starts. */
function refuseOverridden(values: ReadonlyMap<string, string>): void {
  const environment = withoutEmpty(readEnvironment())
  for (const [env, value] of values)
    if (value !== '' && environment[env] !== undefined && environment[env] !== value)
      throw new UserError(
        `${env} is set in the environment to another value, which would win. Unset it, or leave this answer out.`,
      )
}

/** The answers that an existing file has. Options that contradict it are refused. */
export function readAnswers(options: InitOptions): Answers {
  const file = readEnvFile(ENV_FILE)
  const { vendors, given, usesOf } = readKnownVendors()
  const isUsed = (name: string) => usesOf(name).some((kind) => kind !== 'catalogue')
  const vendor = [...vendors.values()].find(({ name }) => isUsed(name))
  const mode = vendor ? 'vendor' : given[SETTINGS.sandbox.env] === 'off' ? 'records' : 'trial'
  const wanted = options.mode ?? (options.vendor ? 'vendor' : mode)
  const hasSources = wanted === mode && (options.vendor === undefined || isUsed(options.vendor))
  const differences = [
    ...(hasSources ? [] : [`the settings for ${options.vendor ?? wanted}`]),
    ...PLACES.flatMap(([name]) => {
      const { env, fallback } = SETTINGS[name]
      const value = options[name]
      return value === undefined || value === (file[env] ?? fallback) ? [] : [`${env}=${value}`]
    }),
  ]
  if (differences.length > 0)
    throw new UserError(
      `${resolve(ENV_FILE)} exists and does not have ${differences.join(', ')}. Nothing was changed. Change the file, or move it away and run this again.`,
    )
  const values = new Map(Object.entries(file).map(([env, value = '']) => [env, value]))
  return { mode, ...(vendor && { vendor }), values }
}
