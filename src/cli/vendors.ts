import { resolve } from 'node:path'
import type { Command } from 'commander'
import { UserError } from '../errors.ts'
import { say, strong, toCount, toTable } from '../server/terminal.ts'
import { ConfigError } from '../settings/environment.ts'
import { type Environment, isGiven } from '../settings/read-settings.ts'
import type { Setting } from '../settings/setting.ts'
import type { AnswerMap } from '../sources/vendor-file/answer-map.ts'
import { needsOf } from '../sources/vendor-file/create-source.ts'
import {
  describePart,
  describeSource,
  listParts,
  listPlaces,
  OUTCOME_TEXTS,
} from '../sources/vendor-file/describe.ts'
import {
  OPERATIONS,
  type OperationName,
  type VendorFile,
  type VendorOperation,
  type VendorRequest,
  type VendorRule,
} from '../sources/vendor-file/schema.ts'
import { listVendorFiles, loadVendorFile, type Vendor } from '../sources/vendors.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import {
  type KnownVendors,
  readKnownVendors,
  readVendorsFolder,
  requireKnownVendor,
} from './known-vendors.ts'
import { addCertifyCommand, sayProofs } from './vendors-certify.ts'
import { addNewCommand } from './vendors-new.ts'
import { addTryCommand } from './vendors-try.ts'

export function addVendorsCommand(program: Command): void {
  const vendors = program
    .command('vendors')
    .description('the files that describe vendors: list them, read one, check your own, prove one')
  addHelp(vendors, {
    details: 'A vendor of identity checks is a file. docs/vendors.md says how to write one.',
    examples: {
      'vendors list': 'all vendors, and which are in use',
      'vendors validate acme.json': 'what is wrong with a file',
    },
  })
  addListCommand(vendors)
  addShowCommand(vendors)
  addValidateCommand(vendors)
  addTryCommand(vendors)
  addCertifyCommand(vendors)
  addNewCommand(vendors)
}

function addListCommand(vendors: Command): void {
  const command = vendors
    .command('list')
    .description('all vendors: what they can look up, where they are described, and which are in use')
    .option('--json', 'print a JSON array')
    .action(runList)
  addHelp(command, {
    settings: ['TABBAT_VENDORS_DIR', 'TABBAT_NIN_SOURCES', 'TABBAT_BVN_SOURCES', 'TABBAT_CATALOGUE_SOURCES'],
    exitCodes: EXIT_CODES,
    examples: { 'vendors list': 'a table', 'vendors list --json': 'a JSON array' },
  })
}

function addShowCommand(vendors: Command): void {
  const command = vendors
    .command('show')
    .description('a vendor file in plain words: settings, requests, rules, and where fields come from')
    .argument('<name>', 'the vendor')
    .option('--json', 'print the file')
    .action(runShow)
  addHelp(command, {
    details: 'It says which settings are set. The value of a secret is never shown.',
    settings: ['TABBAT_VENDORS_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'vendors show dojah': 'in plain words',
      'vendors show dojah --json > vendors.d/dojah.json': 'a copy to change',
    },
  })
}

function addValidateCommand(vendors: Command): void {
  const command = vendors
    .command('validate')
    .description('check vendor files, and print everything that is wrong with them')
    .argument('[file...]', 'the files; without one, those of TABBAT_VENDORS_DIR')
    .option('--json', 'print a JSON array')
    .action(runValidate)
  addHelp(command, {
    details: 'Each problem has the file, the place in it and what was expected. No vendor is called.',
    settings: ['TABBAT_VENDORS_DIR'],
    exitCodes: { 0: 'all files can be used', 1: 'a file cannot be used, or cannot be read' },
    examples: {
      'vendors validate acme.json': 'one file',
      'vendors validate': 'all files of your folder',
    },
  })
}

/** A wrong file is no vendor, so the others are shown first. */
function failIfProblems({ problems }: KnownVendors): void {
  if (problems.length > 0) throw new ConfigError(problems)
}

function runList({ json }: { json?: true }): void {
  const known = readKnownVendors()
  const rows = [...known.vendors.values()].map((vendor) => toRow(vendor, known))
  if (json) say(JSON.stringify(rows))
  else
    say(
      toTable([
        ['name', 'title', 'looks up', 'described in', 'documents read', 'in use for'],
        ...rows.map((row) => [
          row.name,
          row.title,
          row.looks_up.join(', '),
          row.path ?? row.origin,
          row.documents_read ?? '-',
          row.in_use_for.join(', ') || '-',
        ]),
      ]),
    )
  failIfProblems(known)
}

function toRow({ name, title, abilities, loaded }: Vendor, { usesOf }: KnownVendors) {
  return {
    name,
    title,
    looks_up: loaded ? listOperations(loaded.file) : abilities,
    origin: !loaded ? 'code' : loaded.path === undefined ? 'built in' : 'your file',
    path: loaded?.path === undefined ? null : resolve(loaded.path),
    documents_read: loaded?.file.documentation.read ?? null,
    in_use_for: usesOf(name),
  }
}

const listOperations = ({ operations }: VendorFile) => OPERATIONS.filter((name) => operations[name])

async function runShow(name: string, { json }: { json?: true }): Promise<void> {
  const known = readKnownVendors()
  const vendor = requireKnownVendor(known, name)
  const { loaded, settings } = vendor
  if (json) {
    if (!loaded) throw new UserError(`${name} is code: there is no file. See docs/vendors.md.`)
    say(loaded.text.trimEnd())
    return
  }
  const { origin, path, in_use_for: uses } = toRow(vendor, known)
  say(`${strong(vendor.title)} (${name}), ${origin}${path === null ? '' : `: ${path}`}`)
  say(uses.length > 0 ? `In use for ${uses.join(', ')}.` : 'Not in use.')
  if (loaded) {
    const { documentation } = loaded.file
    say(`Documents: ${documentation.url}, read on ${documentation.read}.`)
    sayComment(JSON.parse(loaded.text))
  }
  say(`\n${strong('Settings')}`)
  say(toTable([['variable', 'value', 'meaning'], ...Object.values(settings).map(toSettingRow(known.given))]))
  if (!loaded) return
  sayFile(loaded.file, JSON.parse(loaded.text))
  await sayProofs(name, loaded.file)
}

const sayComment = ({ $comment: text }: { readonly $comment?: unknown }, indent = '') => {
  if (typeof text === 'string') say(`${indent}${text}`)
}

const toSettingRow = (given: Environment) => (entry: Setting<unknown>) => [
  entry.env,
  toShown(entry, given),
  entry.help,
]

function toShown(entry: Setting<unknown>, given: Environment): string {
  const { env, secret, required, fallback } = entry
  if (!isGiven(entry, given)) return required ? 'not set: required' : fallback === undefined ? '-' : fallback
  return secret ? 'set' : `${given[env]} (set)`
}

/** `commented`: the same with remarks. */
function sayFile(file: VendorFile, commented: VendorFile): void {
  sayRequests(file)
  for (const [name, rules] of Object.entries(file.rules)) {
    const users = OPERATIONS.filter((each) => file.answers[each]?.rules === name)
    say(`\n${strong(`Rules for ${users.join(', ')}`)} (${name}): the first that holds decides`)
    sayRules(rules, commented.rules[name])
  }
  for (const [name, texts] of Object.entries(file.texts ?? {}))
    say(`\n${strong(`Texts ${name}`)}\n${texts.map((text) => `  ${text}`).join('\n')}`)
  for (const name of OPERATIONS) if (file.answers[name]) sayRecord(name, file.answers[name])
}

function sayRequests(file: VendorFile): void {
  say(`\n${strong('Requests')}`)
  for (const line of listAuthentication(file)) say(line)
  for (const name of listOperations(file)) {
    const { request } = file.operations[name] as VendorOperation
    const needs = needsOf(file, name)
    say(`${name}: ${toRequestText(request)}`)
    if (needs.length > 0) say(`  needs ${needs.map(({ detail }) => detail).join(', ')}`)
  }
}

function sayRules(rules: readonly VendorRule[], commented: readonly VendorRule[] = []): void {
  for (const [index, rule] of rules.entries()) {
    say(`${index + 1}. ${rule.name}: ${OUTCOME_TEXTS[rule.then]}`)
    say(`   if ${listParts(rule.if).map(describePart).join(', and ')}`)
    sayComment(commented[index] ?? {}, '   ')
  }
  say('Otherwise the HTTP status says what went wrong. It never means that there is no such person.')
}

function sayRecord(name: OperationName, map: AnswerMap): void {
  say(`\n${strong(`The record of ${name}`)}: ${describeSource(map.record)}`)
  if (map.number?.may_be_missing) say('The number may be missing.')
  if (map.same_fields) say('Fields of the same name as in our API are taken over.')
  const places = listPlaces(name, map).map(({ field, source }) => [field, describeSource(source)])
  say(toTable([['field', 'comes from'], ...places]))
}

function listAuthentication({ authentication = {} }: VendorFile): string[] {
  const { headers, basic, token, hmac } = authentication
  return [
    ...Object.entries(headers ?? {}).flatMap(([name, text]) =>
      name === '$comment' ? [] : [`Every request has the header ${name}: ${text}`],
    ),
    ...(basic ? [`Every request has Authorization: Basic of ${basic.user}:${basic.password}`] : []),
    ...(token
      ? [
          `A token is fetched by ${toRequestText(token.request)}; it is at ${token.token_at} and sent as ${token.header ?? 'authorization'}: ${token.prefix ?? 'Bearer '}…`,
        ]
      : []),
    ...(hmac ? [`{signature} is the HMAC-${hmac.algorithm} of ${hmac.over.join('')} with ${hmac.key}`] : []),
  ]
}

function toRequestText({ method, path, query, headers, body }: VendorRequest): string {
  const asked = Object.entries(query ?? {}).map(([name, text]) => `${name}=${text}`)
  const sent = Object.entries(headers ?? {}).map(([name, text]) => `${name}: ${text}`)
  return [
    `${method} ${path}${asked.length > 0 ? `?${asked.join('&')}` : ''}`,
    ...sent,
    ...(body === undefined ? [] : [JSON.stringify(body)]),
  ].join('  ')
}

function runValidate(files: readonly string[], { json }: { json?: true }): void {
  const paths = files.length > 0 ? files : listOwnFiles()
  const results = paths.map((file) => {
    const loaded = loadVendorFile(file)
    return 'problems' in loaded ? { file, problems: loaded.problems } : { file, problems: [] }
  })
  const wrong = results.flatMap(({ problems }) => problems)
  if (json) {
    say(JSON.stringify(results.map((result) => ({ ...result, valid: result.problems.length === 0 }))))
    if (wrong.length > 0) process.exitCode = 1
    return
  }
  for (const { file, problems } of results) if (problems.length === 0) say(`${file}: no problems.`)
  if (wrong.length > 0) throw new ConfigError(wrong)
  if (results.length > 1) say(`${toCount(results.length, 'file')}: no problems.`)
}

function listOwnFiles(): readonly string[] {
  const folder = readVendorsFolder()
  if (folder === undefined) throw new UserError('Name a file, or set TABBAT_VENDORS_DIR.')
  const problems: string[] = []
  const paths = listVendorFiles(folder, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  if (paths.length === 0) throw new UserError(`There is no vendor file in ${folder}.`)
  return paths
}
