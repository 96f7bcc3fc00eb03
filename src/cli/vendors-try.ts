import { type Command, InvalidArgumentError, Option } from 'commander'
import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { readPersonNumber, toPhoneCore } from '../contract/person.ts'
import { readFileUpTo } from '../crypto/secret-file.ts'
import { UserError } from '../errors.ts'
import { dim, say, strong, toTable } from '../server/terminal.ts'
import { readSettings } from '../settings/read-settings.ts'
import { createNameShaper, toAnswerShape } from '../sources/answer-shape.ts'
import type { HttpReply } from '../sources/source.ts'
import { SOURCE_PROBLEMS } from '../sources/source-problem.ts'
import { OUTCOME_TEXTS } from '../sources/vendor-file/describe.ts'
import { listMemberNames } from '../sources/vendor-file/places.ts'
import { OPERATIONS, type OperationName, type VendorFile } from '../sources/vendor-file/schema.ts'
import { type Trial, tryAnswer } from '../sources/vendor-file/try-answer.ts'
import { toFileSettings } from '../sources/vendor-settings.ts'
import { BVN, NIN } from '../verification/id-type.ts'
import { isPhoneOf } from '../verification/match.ts'
import { addHelp } from './help.ts'
import { readKnownVendors, requireVendorFile } from './known-vendors.ts'
import { isInteractive, readSecret, readShortFile } from './prompt.ts'

type TryOptions = {
  answer: string
  status: number
  operation?: OperationName
  ask?: true
  numberFile?: string
  names?: true
  shapes?: true
  json?: true
}

export function addTryCommand(vendors: Command): void {
  const command = vendors
    .command('try')
    .description('read a saved answer of a vendor as its file says, and explain the result; nothing is sent')
    .argument('<file>', 'the vendor file, or the name of a vendor')
    .requiredOption('--answer <file>', 'the saved answer: the body as the vendor sent it')
    .option('--status <status>', 'HTTP status of the answer', readStatus, 200)
    .addOption(
      new Option(
        '--operation <operation>',
        'what was looked up; by default the first that the file has',
      ).choices(OPERATIONS),
    )
    .option(
      '--ask',
      'ask for the number and the phone of the request; by default those of the record are used',
    )
    .option(
      '--number-file <file>',
      'file that holds the number and, in its second line, the phone of the request',
    )
    .option('--names', 'the request had a first and a last name')
    .option('--shapes', 'print the shape of every value instead of the value: letters as A, digits as 9')
    .option('--json', 'print a JSON object')
    .action(runTry)
  addHelp(command, {
    details:
      'It prints which rule matched and why those before it did not, what the answer means, the record that a caller would get, and which parts of the answer were used. No settings are needed, and no vendor is called.\n\nThe output has personal data of the saved answer, unless --shapes is given. It is printed only, and stored nowhere. A number and a phone are not taken from the command line, because other users of this machine can read command lines.',
    settings: ['TABBAT_VENDORS_DIR'],
    exitCodes: { 0: 'the answer can be used', 1: 'it is a failure, or the file cannot be used' },
    examples: {
      'vendors try acme.json --answer saved.json': 'the record that comes out',
      'vendors try dojah --answer error.json --status 404 --operation bvn': 'what an error means',
      'vendors try acme.json --answer saved.json --shapes': 'without personal data',
    },
  })
}

export function readStatus(text: string): number {
  if (/^[2-5]\d\d$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be an HTTP status from 200 to 599.')
}

async function runTry(fileOrName: string, options: TryOptions): Promise<void> {
  const { name, file } = requireVendorFile(fileOrName)
  const operation = options.operation ?? OPERATIONS.find((each) => file.operations[each]) ?? 'nin'
  if (!file.operations[operation]) throw new UserError(`The file has no request for ${operation}.`)
  const reply = readReply(options)
  const settings = readSettings(toFileSettings(name, file), readKnownVendors().given, [])
  const asked = await readAsked(operation, options)
  const trial =
    reply && tryAnswer(name, file, reply, { operation, settings, hasNames: options.names, ...asked })
  const result = toResult(name, operation, options, file, trial)
  if (options.json) say(JSON.stringify(result))
  else sayResult(result, trial, file, options, asked)
  if (result.problem !== null) process.exitCode = 1
}

const MAX_ANSWER_BYTES = 2 * 1024 * 1024

/** Undefined if the answer is no JSON, although its status is that of a success. */
export function readReply({ answer, status }: Pick<TryOptions, 'answer' | 'status'>): HttpReply | undefined {
  let text: string
  try {
    text = readFileUpTo(answer, MAX_ANSWER_BYTES).toString()
  } catch (error) {
    if (error instanceof UserError) throw error
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UserError(`The file with the answer cannot be read (${code}).`)
  }
  try {
    return { status, body: JSON.parse(text) }
  } catch {
    return status < 300 ? undefined : { status, body: undefined }
  }
}

type Asked = { readonly number?: string; readonly phone?: string }

/** Never from the arguments. */
async function readAsked(operation: OperationName, { ask, numberFile }: TryOptions): Promise<Asked> {
  const kind = operation === 'bvn' ? 'bvn' : 'nin'
  if (!ask && numberFile === undefined) return {}
  if (ask && numberFile === undefined && !isInteractive())
    return toAsked(kind, (await readSecret('')).trim().split(/\s*\n\s*/))
  if (numberFile !== undefined)
    return toAsked(kind, (await readShortFile(numberFile)).trim().split(/\s*\n\s*/))
  const number = await readSecret(`${kind.toUpperCase()} (not shown): `)
  return toAsked(kind, [number.trim(), (await readSecret('Phone (not shown): ')).trim()])
}

function toAsked(kind: 'nin' | 'bvn', [numberText = '', phoneText = '']: readonly string[]): Asked {
  const number = readPersonNumber(kind, numberText)
  const phone = phoneText === '' ? undefined : toPhoneCore(phoneText)
  if (number === undefined) throw new UserError(`A ${kind.toUpperCase()} has 11 digits, on the first line.`)
  if (phoneText !== '' && phone === undefined)
    throw new UserError('The phone, on the second line, must be a Nigerian mobile number such as 0803…')
  return { number, ...(phone !== undefined && { phone }) }
}

function toResult(
  vendor: string,
  operation: OperationName,
  { status, shapes }: TryOptions,
  file: VendorFile,
  trial: Trial | undefined,
) {
  const problem = trial ? trial.problem : 'not_json'
  const record = trial?.record ?? null
  return {
    vendor,
    operation,
    status,
    rule: trial?.rule?.name ?? null,
    outcome: trial?.rule?.then ?? null,
    tried: (trial?.tried ?? []).map(({ rule, holds, parts }) => ({ name: rule.name, holds, parts })),
    problem: problem ?? null,
    meaning: toMeaning(trial, problem),
    checks: trial?.checks ?? [],
    phone_matches: trial && record && !problem ? isPhoneMatch(operation, record, trial.asked.phone) : null,
    record: shapes ? toAnswerShape(record) : record,
    used: trial?.uses ?? [],
    unused: shapes ? toPathShapes(file, record, trial?.unused) : (trial?.unused ?? []),
  }
}
type Result = ReturnType<typeof toResult>

/** A member that the file does not name may have the name of the person. */
function toPathShapes(file: VendorFile, record: unknown, paths: readonly string[] = []): string[] {
  const personal = listValues(record, '').flatMap(([, value]) => [value, ...value.split(/\s+/)])
  const toName = createNameShaper({ known: listMemberNames(file), personal })
  return [...new Set(paths.map((path) => path.split('.').map(toName).join('.')))]
}

function toMeaning(trial: Trial | undefined, problem: keyof typeof SOURCE_PROBLEMS | undefined): string {
  if (problem) return SOURCE_PROBLEMS[problem]
  const text = OUTCOME_TEXTS[trial?.rule?.then ?? 'unknown']
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

const isPhoneMatch = (operation: OperationName, record: NinRecord | BvnRecord, phone: string) =>
  isPhoneOf(
    phone,
    operation === 'bvn' ? BVN.phonesIn(record as BvnRecord) : NIN.phonesIn(record as NinRecord),
  )

function sayResult(
  result: Result,
  trial: Trial | undefined,
  file: VendorFile,
  { shapes }: TryOptions,
  asked: Asked,
): void {
  say(`${strong(file.title)}: ${result.operation}, HTTP status ${result.status}`)
  sayRules(result)
  say(`\n${strong('Meaning')}`)
  if (trial && !trial.rule) say('No rule holds, so the HTTP status decides.')
  say(`${result.problem === null ? '' : `Failure (${result.problem}): `}${result.meaning}`)
  if (result.record) {
    sayChecks(result, asked)
    sayRecord(result, shapes)
  }
  sayUnused(result)
}

function sayRules({ tried }: Result): void {
  say(`\n${strong('Rules')}`)
  for (const [index, { name, holds, parts }] of tried.entries()) {
    say(`${index + 1}. ${name}: ${holds ? 'holds' : 'does not hold'}`)
    for (const part of parts) if (holds || !part.holds) say(`   ${part.holds ? 'yes' : 'no'}: ${part.text}`)
  }
}

const NUMBERS = ['nin_number', 'bvn_number']

function sayChecks({ checks, used, phone_matches: matches }: Result, asked: Asked): void {
  say(`\n${strong('Rules of the program')}`)
  const missing = (['number', 'phone'] as const).filter((part) => asked[part] === undefined)
  if (missing.length > 0)
    say(`The ${missing.join(' and the ')} of the request: not given, so what the record has is used.`)
  for (const { text, holds } of checks)
    say(`${holds === null ? 'not looked at' : holds ? 'yes' : 'no'}: ${text}`)
  if (checks.length > 0 && !used.some(({ for: field }) => NUMBERS.includes(field)))
    say('The record has no number where the file says that it is.')
  if (matches !== null) say(`${matches ? 'yes' : 'no'}: the phone is that of the request`)
  if (matches !== null) say(matches ? 'The caller gets the record.' : 'The caller gets “not verified”.')
}

function sayRecord({ record, used }: Result, shapes: true | undefined): void {
  say(`\n${strong('Record')}`)
  if (!shapes)
    say(
      dim('Personal data of the saved answer, printed here only. --shapes prints the shapes of the values.'),
    )
  const rows = listValues(record, '').map(([field, value]) => [
    field,
    value,
    used
      .filter((use) => use.for === field)
      .map(({ path }) => path)
      .join(', ') || dim('made from other fields'),
  ])
  say(toTable([['field', 'value', 'comes from'], ...rows]))
}

function listValues(value: unknown, path: string): (readonly [field: string, text: string])[] {
  if (typeof value !== 'object' || value === null)
    return value === null || value === '' ? [] : [[path, String(value)]]
  return Object.entries(value).flatMap(([name, inner]) =>
    listValues(inner, path === '' ? name : `${path}.${name}`),
  )
}

function sayUnused({ used, unused }: Result): void {
  const rules = used.filter(({ for: purpose }) => purpose.startsWith('the rule'))
  say(`\n${strong('Parts of the answer')}`)
  for (const { path, for: purpose } of rules) say(`${path}: read by ${purpose}`)
  say(unused.length === 0 ? 'All parts were used.' : `Not used: ${unused.join(', ')}`)
}
