import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { loadConfig } from '../context/config.ts'
import { holdsPersonNumber, toCommandAuthor } from '../contract/free-text.ts'
import { toNaira } from '../contract/naira.ts'
import { type DetailField, type PersonDetails, readPersonNumber, toPhoneCore } from '../contract/person.ts'
import { readDay } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, strong, toCount } from '../server/terminal.ts'
import { ConfigError } from '../settings/environment.ts'
import {
  type CertifyReport,
  type ConsentingPerson,
  certifyVendor,
  findReasonToOmit,
  requireFile,
  type StepResult,
  toCertifyReport,
} from '../sources/certify-vendor.ts'
import { STEPS, type Step, type Verdict } from '../sources/certify-verdict.ts'
import { keepProof, type Proof, type ProofState, toProofStates } from '../sources/proof-table.ts'
import { createSpendLeases, priceOf, toPrices } from '../sources/spend-leases.ts'
import { listNeeds } from '../sources/vendor-file/create-source.ts'
import { OPERATIONS, type OperationName, type VendorFile } from '../sources/vendor-file/schema.ts'
import { VERSION } from '../version.ts'
import { type CommandContext, withCommandContext, withStore } from './command-context.ts'
import { addHelp } from './help.ts'
import { requireOutput, writeError } from './output-path.ts'
import { confirm, isInteractive, readSecret } from './prompt.ts'

type Options = {
  readonly operation?: OperationName
  readonly by?: string
  readonly out?: string
  readonly yes?: true
  readonly json?: true
}

export function addCertifyCommand(vendors: Command): void {
  const command = vendors
    .command('certify')
    .description('prove a vendor file with your own account, step by step, and write a report')
    .argument('<name>', 'the vendor')
    .addOption(new Option('--operation <operation>', 'what to look up').choices(OPERATIONS))
    .option('--by <name>', 'the operator who is shown beside the proof; default: the user of this system')
    .option('--out <file>', 'the report; default: tabbat-certify-<name>-<date>.json in this folder')
    .option('-y, --yes', 'make all calls without asking about the price of each')
    .option('--json', 'print a JSON object')
    .action(runCertify)
  addHelp(command, {
    details: `It calls the vendor up to five times: for a person who agreed to it, with a wrong phone (if the vendor gets the phone), for a number that no person has, for a number that is too short, and with a damaged copy of your secret. Each call is shown with its price first, obeys the kill switch and the daily cap, and is recorded in the audit log.

The number, the phone and the names of the person are asked at prompts that do not show them, and kept nowhere. Without a terminal, give --yes, and the answers on standard input, one a line: number, phone, then the details that the vendor needs.

The report has the shape of the answers instead of their values, so that it can be sent to others. Ctrl-C ends the command; what was proved until then is kept. See docs/sources.md.`,
    usesDatabase: true,
    exitCodes: {
      0: 'no answer contradicts the file',
      1: 'an answer contradicts the file, or the command was interrupted or could not be run',
    },
    examples: {
      'vendors certify dojah': 'the NIN look-up of Dojah',
      'vendors certify dojah --operation bvn --by "Ada, Lagos office"': 'the BVN look-up',
    },
  })
}

/** Guidance and questions: standard output holds the result only. */
const tell = (line = '') => void process.stderr.write(`${line}\n`)

async function runCertify(name: string, options: Options): Promise<void> {
  const config = loadConfig()
  const { inUse, file } = requireFile(config, name)
  const operation = chooseOperation(name, file, options.operation)
  const out = chooseOutput(name, options.out)
  const by = readAuthor(options.by)
  if (!isInteractive() && !options.yes)
    throw new UserError(
      'This command asks before each paid call, so it needs a terminal. Without one, give --yes, and the number, the phone and further details on standard input, one a line.',
    )
  const price = priceOf(toPrices(config)[name], operation === 'bvn' ? 'bvn' : 'nin')
  introduce(name, file, operation, price)
  const person = await readPerson(operation, listNeeds(file, operation, inUse.values))
  const steps: StepResult[] = []
  const { failure, report, isKept, database } = await withCommandContext(async (context) => {
    const failure = await runSteps(context, { name, operation, person, price, options, steps })
    const facts = { name, file, inUse, operation, version: VERSION, steps }
    const report = toCertifyReport({ ...facts, isComplete: failure === undefined, at: new Date() })
    const deps = { table: context.store.proofs, audit: context.audit }
    const isKept = await keepProof(deps, report, { url: inUse.url, by })
    return { failure, report, isKept, database: context.database }
  })
  await writeFile(out, `${JSON.stringify(report, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' }).catch(
    (error) => {
      throw writeError(out, error)
    },
  )
  if (options.json) sayJson({ database }, { ...report, kept: isKept, report: out })
  else sayResult(report, isKept, out)
  if (failure !== undefined) throw failure
  if (steps.some(({ verdict }) => verdict === 'contradicts')) process.exitCode = 1
}

function chooseOperation(name: string, { operations }: VendorFile, wanted?: OperationName): OperationName {
  const known = OPERATIONS.filter((operation) => operations[operation])
  const chosen = wanted ?? known[0]
  if (chosen && known.includes(chosen)) return chosen
  throw new UserError(`${name} has no look-up of that kind. Choose one of ${known.join(', ')}.`)
}

/** A report is never replaced. */
function chooseOutput(name: string, wanted: string | undefined): string {
  const day = new Date().toISOString().slice(0, 10)
  const names = Array.from(
    { length: 99 },
    (_, index) => `tabbat-certify-${name}-${day}${index ? `-${index + 1}` : ''}.json`,
  )
  const out = wanted ?? names.find((each) => !existsSync(each)) ?? ''
  if (wanted !== undefined && existsSync(wanted))
    throw new UserError(`${wanted} exists. Give another name: a report is never replaced.`)
  requireOutput(out, false)
  return out
}

function readAuthor(text = toCommandAuthor()): string {
  const name = text.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
  if (name === '' || name.length > 80 || holdsPersonNumber(name))
    throw new UserError('--by must be a name of 1 to 80 characters, without the number of a person.')
  return name
}

function introduce(name: string, file: VendorFile, operation: OperationName, price: number): void {
  const calls = STEPS.filter((step) => findReasonToOmit(file, operation, step) === undefined).length
  tell(strong(`${file.title}, ${operation}: ${toCount(calls, 'call')} with your account.`))
  tell(
    price > 0
      ? `The vendor may bill each: ${toNaira(price)}, together at most ${toNaira(price * calls)}.`
      : `The vendor may bill each. TABBAT_${name.toUpperCase()}_PRICE is not set, so no price can be shown.`,
  )
  tell(
    'You need the number and the phone of a person who agreed to this. They are sent to the vendor and kept nowhere.',
  )
}

const DETAIL_TEXTS: Readonly<Record<DetailField, string>> = {
  first_name: 'First name',
  last_name: 'Last name',
  date_of_birth: 'Date of birth (1990-01-05)',
}

const NUMBER_TEXTS: Readonly<Record<OperationName, string>> = {
  nin: 'NIN',
  virtual_nin: 'Virtual NIN',
  bvn: 'BVN',
}

/** Never from the arguments or the environment, which others on this machine can read. */
async function readPerson(
  operation: OperationName,
  needs: readonly DetailField[],
): Promise<ConsentingPerson> {
  const lines = isInteractive() ? undefined : (await readSecret('')).split('\n')
  const ask = async (question: string) =>
    (lines ? (lines.shift() ?? '') : await readSecret(`${question} (not shown): `)).trim()
  const number = readPersonNumber(operation === 'bvn' ? 'bvn' : 'nin', await ask(NUMBER_TEXTS[operation]))
  if (number === undefined || (number.length === 11) === (operation === 'virtual_nin'))
    throw new UserError(
      operation === 'virtual_nin'
        ? 'A virtual NIN has two letters, 12 digits and two letters.'
        : `A ${NUMBER_TEXTS[operation]} has 11 digits.`,
    )
  const phone = toPhoneCore(await ask('Phone'))
  if (phone === undefined)
    throw new UserError('The phone must be a Nigerian mobile number, for example 08031234567.')
  const details: { -readonly [Field in keyof PersonDetails]: string } = {}
  for (const field of needs) {
    const text = await ask(DETAIL_TEXTS[field])
    if (text === '' || (field === 'date_of_birth' && !readDay(text)))
      throw new UserError(`The vendor needs this: ${DETAIL_TEXTS[field].toLowerCase()}.`)
    details[field] = text
  }
  return needs.length > 0 ? { number, phone, details } : { number, phone }
}

type Run = {
  readonly name: string
  readonly operation: OperationName
  readonly person: ConsentingPerson
  readonly price: number
  readonly options: Options
  /** Filled while it goes on. */
  readonly steps: StepResult[]
}

/** Returns why it ended early. A call under way is cut off by Ctrl-C. */
async function runSteps(
  { config, store, auditLog: audit }: CommandContext,
  { name, operation, person, price, options, steps }: Run,
): Promise<UserError | undefined> {
  const leases = createSpendLeases(store.spend, toPrices(config), audit.owner)
  const controller = new AbortController()
  const stop = () => controller.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const cost = price > 0 ? `It costs ${toNaira(price)}.` : 'The vendor may bill it.'
  const deps = {
    config,
    store,
    audit,
    leases,
    author: toCommandAuthor(),
    signal: controller.signal,
    ask: async (step: Step) => {
      tell(`\n${strong(STEP_TEXTS[step])}`)
      return options.yes ?? (await confirm(`${cost} Make this call?`))
    },
    onStep: (result: StepResult, advice: string | undefined) => {
      steps.push(result)
      tellStep(result, advice)
    },
  }
  try {
    await certifyVendor(deps, name, operation, person)
    return controller.signal.aborted ? new UserError(INTERRUPTED) : undefined
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return error.message.startsWith('Cancelled') ? new UserError(INTERRUPTED) : error
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await leases.close()
  }
}

const INTERRUPTED = 'Interrupted. What was proved until then is kept.'

const STEP_TEXTS: Readonly<Record<Step, string>> = {
  found: 'The person, with the right phone',
  wrong_phone: 'The person, with a wrong phone',
  unknown_number: 'A number that no person has',
  malformed_number: 'A number that is too short',
  wrong_credentials: 'A damaged copy of your secret',
}

const VERDICT_TEXTS: Readonly<Record<Verdict, string>> = {
  proved: 'proved',
  contradicts: 'CONTRADICTS THE FILE',
  not_proved: 'not proved',
  not_needed: 'no call needed',
  left_out: 'left out',
}

function tellStep(result: StepResult, advice: string | undefined): void {
  const { step, verdict, explanation, http_status: status, rule, answer } = result
  if (verdict === 'not_needed') tell(`\n${strong(STEP_TEXTS[step])}`)
  const decided = rule ? `rule "${rule}"` : rule === null ? 'no rule held, so the HTTP status decided' : ''
  const facts = [status === undefined ? '' : `HTTP status ${status}`, decided].filter((text) => text !== '')
  tell(`${VERDICT_TEXTS[verdict]}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}: ${explanation}`)
  if (verdict !== 'contradicts') return
  if (answer !== undefined) tell(`The shape of the answer:\n${JSON.stringify(answer, undefined, 2)}`)
  if (advice !== undefined) tell(advice)
}

function sayResult(
  { vendor, proved, not_proved, contradictions }: CertifyReport,
  isKept: boolean,
  out: string,
): void {
  say()
  say(`Proved: ${toNames('rule', proved.rules.map(quote))}; ${toNames('field', proved.fields)}`)
  say(`Not proved: ${toNames('rule', not_proved.rules.map(quote))}; ${toNames('field', not_proved.fields)}`)
  for (const { step, explanation } of contradictions)
    say(`Contradicts the file: ${STEP_TEXTS[step]}. ${explanation}`)
  say(
    isKept
      ? `The proof is kept: see tabbat vendors show ${vendor}, and the console.`
      : 'No proof is kept: nothing was proved, or the address is on this machine, where only a simulated vendor answers.',
  )
  say(
    `The report is in ${out}. It has shapes instead of values, and may be sent to the maintainers: see docs/sources.md.`,
  )
}

/** The names of rules have commas. */
const quote = (name: string) => `"${name}"`

const toNames = (noun: string, names: readonly string[]) =>
  `${toCount(names.length, noun)}${names.length > 0 ? ` (${names.join(', ')})` : ''}`

/** What is proved of a file, if this machine has a database. */
export async function sayProofs(name: string, file: VendorFile): Promise<void> {
  say(`\n${strong('Proved with an account')}`)
  const proofs = await withStore(({ store }) => store.proofs.list()).catch((error: Error) => {
    if (error instanceof UserError || error instanceof ConfigError) return undefined
    throw error
  })
  if (!proofs) return say('There is no database here that could be read, so it is not known.')
  for (const state of toProofStates(name, file, proofs)) say(`${state.operation}: ${toProofText(state)}`)
}

function toProofText({
  provedRules,
  otherRules,
  provedFields,
  otherFields,
  last,
  earlier,
}: ProofState): string {
  const toAuthor = ({ provedBy, provedAt, host }: Proof) =>
    `by ${provedBy} on ${new Date(provedAt).toISOString().slice(0, 10)}, at ${host}`
  if (earlier) return `not proved yet; an earlier file was proved ${toAuthor(earlier)}`
  if (!last) return 'not proved yet'
  const fields = `${provedFields.length} of ${toCount(provedFields.length + otherFields.length, 'field')}`
  const others = otherRules.length > 0 ? `; not proved: ${otherRules.map(quote).join(', ')}` : ''
  return `rules ${provedRules.map(quote).join(', ') || 'none'} and ${fields}, ${toAuthor(last)}${others}`
}
