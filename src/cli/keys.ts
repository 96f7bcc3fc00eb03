import { type Command, Option } from 'commander'
import type { Store } from '../context/store.ts'
import { toNaira } from '../contract/naira.ts'
import { REVOKED_WITHIN } from '../contract/revocation.ts'
import { MODES, type Mode, SCOPES, type Scope } from '../contract/scope.ts'
import { steadyNow, toLagosDate } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { isHiddenByDefault } from '../keys/field-policy.ts'
import { OVERLAP } from '../keys/key-options.ts'
import { type KeyUsage, listKeyUsage, toUsageCsv } from '../keys/key-usage.ts'
import {
  changeKey,
  createKey,
  type KeyChanges,
  type NewKey,
  revokeKey,
  rollKey,
  toKeyState,
  toKeyView,
} from '../keys/manage.ts'
import { type AnyOption, KEY_OPTIONS, listOptions, type OptionValues } from '../keys/options.ts'
import { dim, print, say, sayJson, strong, toTable, warn } from '../server/terminal.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import {
  asOption,
  orWord,
  REMOVED,
  readClientCerts,
  readKeyDuration,
  readLifetime,
  readMonth,
  readName,
  readScopes,
} from './options.ts'
import { addRotateRootCommand } from './rotate-root.ts'

const ID = 'id of the key, as "tabbat keys list" shows it'

export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('create, list, change, revoke and roll API keys; rotate the root key')
  addHelp(keys, {
    examples: {
      'keys create --name shop --mode live': 'create a key for live requests',
      'keys revoke k3JbvwRd': `end a key: it is refused ${REVOKED_WITHIN}`,
    },
  })
  addCreateCommand(keys)
  addListCommand(keys)
  addChangeCommand(keys)
  addRevokeCommand(keys)
  addRollCommand(keys)
  addUsageCommand(keys)
  addRotateRootCommand(keys)
}

function addListCommand(keys: Command): void {
  const command = keys
    .command('list')
    .description('list the keys, without their secrets')
    .option('--json', 'print a JSON array')
    .action((options: { json?: true }) => withStore(({ store }) => list(store, options)))
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'keys list': 'a table', 'keys list --json': 'a JSON array, with all options of each key' },
  })
}

function addRevokeCommand(keys: Command): void {
  const command = keys
    .command('revoke')
    .description(`end a key; it is refused ${REVOKED_WITHIN}`)
    .argument('<id>', ID)
    .option('--json', 'print a JSON object')
    .action(runRevoke)
  addHelp(command, {
    details: 'It asks for no confirmation. A revoked key cannot be restored: create a new one.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'keys revoke k3JbvwRd': 'the id is in "tabbat keys list"',
      'keys revoke k3JbvwRd --json': 'print JSON',
    },
  })
}

type RollOptions = { overlap?: number; expires?: number | typeof REMOVED; clientCert?: string[]; json?: true }

function addRollCommand(keys: Command): void {
  const command = keys
    .command('roll')
    .description('replace a key by a new one with the same rights; the old one works until the overlap ends')
    .argument('<id>', ID)
    .option('--overlap <time>', `how long the old key still works (default: ${OVERLAP})`, readKeyDuration)
    .option(
      '--expires <time>',
      'time from now until the new key expires, for example 90d, or never (default: as long as the old key was made for)',
      orWord('never', readLifetime),
    )
    .option(
      '--client-cert <fingerprints>',
      KEY_OPTIONS.client_certs.help.replace(/default: .*\)/, 'default: as before)'),
      readClientCerts,
    )
    .option('--json', 'print a JSON object')
    .action((id: string, options: RollOptions) =>
      withCommandContext(async (context) => {
        const overlapMs = options.overlap ?? readKeyDuration(OVERLAP)
        showNewKey(context, await rollKey(context, id, overlapMs, toRollChanges(options)), options.json)
      }, EXISTING),
    )
  addHelp(command, {
    details: 'The new key is shown once. It continues the counters of the old one. See docs/keys.md.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'keys roll k3JbvwRd': 'the old key works for another 24 hours',
      'keys roll k3JbvwRd --overlap 1h': 'the old key works for another hour',
    },
  })
}

const toRollChanges = ({ clientCert, expires }: RollOptions) => ({
  ...(clientCert && { clientCerts: clientCert }),
  ...(expires !== undefined && { expiresAt: expires === REMOVED ? undefined : steadyNow() + expires }),
})

/** No confirmation: a leaked key must end. */
const runRevoke = (id: string, { json }: { json?: true }) =>
  withCommandContext(async (context) => {
    await revokeKey(context, id)
    if (json) sayJson(context, { id, revoked: true })
    else say(`Key ${id} is revoked. It is refused ${REVOKED_WITHIN}.`)
  }, EXISTING)

async function list(store: Store, { json }: { json?: true }): Promise<void> {
  const rows = await store.keys.list()
  if (json) return say(JSON.stringify(rows.map(toKeyView)))
  if (rows.length === 0)
    return say('There are no keys yet. Create one with: tabbat keys create --name <name> --mode test')
  const cells = rows.map((row) => [
    row.id,
    row.mode,
    toKeyState(row),
    toDay(row.createdAt) ?? '',
    toDay(row.expiresAt) ?? 'never',
    row.scopes.join(' '),
    row.name,
  ])
  say(toTable([['id', 'mode', 'state', 'created', 'expires', 'scopes', 'name'], ...cells]))
}

type UsageOptions = { from?: string; to?: string; csv?: true; json?: true }

function addUsageCommand(keys: Command): void {
  const command = keys
    .command('usage')
    .description('verifications, paid calls and cost of each key, by month')
    .option('--from <month>', 'first month, such as 2026-01 (default: this month)', readMonth)
    .option('--to <month>', 'last month (default: this month)', readMonth)
    .option('--csv', 'print CSV, for a spreadsheet')
    .option('--json', 'print a JSON array')
    .action((options: UsageOptions) => withStore(({ store }) => showUsage(store, options)))
  addHelp(command, {
    details:
      'Months are in Lagos time. The cost has the prices that were set when each call was made (TABBAT_<VENDOR>_PRICE). Verifications are counted as long as TABBAT_STATISTICS_KEEP says, paid calls for 800 days.',
    usesDatabase: true,
    settings: ['TABBAT_STATISTICS_KEEP'],
    exitCodes: EXIT_CODES,
    examples: {
      'keys usage': 'this month',
      'keys usage --from 2026-01 --to 2026-12 --csv > usage.csv': 'a year, for a spreadsheet',
    },
  })
}

async function showUsage(
  store: Parameters<typeof listKeyUsage>[0],
  { from, to, csv, json }: UsageOptions,
): Promise<void> {
  const today = toLagosDate(steadyNow()).slice(0, 'yyyy-mm'.length)
  const months = { from: from ?? to ?? today, to: to ?? today }
  if (months.from > months.to) throw new UserError('The first month is after the last one.')
  const rows = await listKeyUsage(store, months)
  if (csv) print(toUsageCsv(rows))
  else if (json) say(JSON.stringify(rows))
  else if (rows.length === 0) say('No key was used in this time.')
  else say(toTable([USAGE_TITLES, ...rows.map(toUsageCells)]))
}

const USAGE_TITLES = [
  'month',
  'key',
  'mode',
  'verified',
  'not verified',
  'failed',
  'paid calls',
  'cost',
  'name',
]

const toUsageCells = (row: KeyUsage) => [
  row.month,
  row.key_id,
  row.mode,
  String(row.verified),
  String(row.not_verified),
  String(row.failed),
  String(row.paid_calls),
  toNaira(row.cost_naira * 100),
  row.name,
]

type CreateOptions = {
  name: string
  mode: Mode
  scope?: Scope[]
  expires?: number
  reveal?: string[]
  json?: true
}

function addCreateCommand(keys: Command): void {
  const command = keys
    .command('create')
    .description('create a key; it is shown once and cannot be shown again')
    .requiredOption('--name <name>', 'what the key is for; never the name of a person', readName)
    .addOption(
      new Option('--mode <mode>', 'test: synthetic people; live: the configured sources')
        .choices(MODES)
        .makeOptionMandatory(),
    )
    .option(
      '--scope <scopes>',
      `what it may do, separated by commas: ${SCOPES.join(', ')} (default: all)`,
      readScopes,
    )
    .option(
      '--expires <time>',
      'time until it expires, for example 12h, 90d or 1y (default: never)',
      readLifetime,
    )
  for (const option of toFlags()) command.addOption(option)
  command
    .option('--json', 'print a JSON object')
    .action((options: CreateOptions) => withCommandContext((context) => createFrom(context, options)))
  addHelp(command, {
    details: 'See docs/keys.md and, for the fields, docs/behaviour.md.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'keys create --name shop --mode test --expires 90d': 'a test key for 90 days',
      'keys create --name web --mode live --scope kyc:nin --ip 10.0.0.0/8 --hide religion,image_url':
        'a live key with limits',
    },
  })
}

async function createFrom(context: CommandContext, options: CreateOptions): Promise<void> {
  const { name, mode, scope: scopes = [...SCOPES], expires, reveal, json } = options
  const expiresAt = expires === undefined ? undefined : Date.now() + expires
  showNewKey(
    context,
    await createKey(context, { name, mode, scopes, expiresAt, ...readFlags(options) }),
    json,
  )
  const revealed = reveal?.filter(isHiddenByDefault) ?? []
  if (revealed.length > 0) warn(`this key gets fields that are hidden by default: ${revealed.join(', ')}.`)
  for (const word of reveal?.filter((each) => !isHiddenByDefault(each)) ?? [])
    warn(`${word} is not hidden by default, so --reveal changes nothing for it.`)
}

function showNewKey(context: CommandContext, { text, row }: NewKey, json: true | undefined): void {
  if (json) {
    sayJson(context, { key: text, ...toKeyView(row) })
    return
  }
  say(strong(text))
  say(
    dim(
      `id ${row.id}, ${row.mode} mode, ${row.scopes.join(', ')}, expires ${toDay(row.expiresAt) ?? 'never'}`,
    ),
  )
  warn('the key is shown only once. Store it now.')
}

const toDay = (at: number | undefined) =>
  at === undefined ? undefined : new Date(at).toISOString().slice(0, 10)

/** Absent: unchanged. */
type ChangeOptions = {
  name?: string
  scope?: Scope[]
  expires?: number | typeof REMOVED
  json?: true
}

function addChangeCommand(keys: Command): void {
  const command = keys
    .command('change')
    .description('change the options of a key; its secret stays the same')
    .argument('<id>', ID)
    .option('--name <name>', 'what the key is for; never the name of a person', readName)
    .option('--scope <scopes>', `what it may do: ${SCOPES.join(', ')}`, readScopes)
    .option(
      '--expires <time>',
      'time from now until it expires, for example 90d, or never',
      orWord('never', readLifetime),
    )
    .action((id: string, options: ChangeOptions) =>
      withCommandContext((context) => runChange(context, id, options), EXISTING),
    )
  for (const option of toChangeFlags()) command.addOption(option)
  command.option('--json', 'print a JSON object')
  addHelp(command, {
    details: `A list replaces the one before. It takes effect ${REVOKED_WITHIN}. The audit log gets the values before and after. A key that has ended or was rolled cannot be changed.`,
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'keys change k3JbvwRd --subjects-per-day 500 --expires 90d': 'a lower limit, and an end',
      'keys change k3JbvwRd --ip any --note "address list removed, see change 481"':
        'usable from any address',
    },
  })
}

async function runChange(context: CommandContext, id: string, options: ChangeOptions): Promise<void> {
  const changes = toChanges(options)
  if (Object.keys(changes).length === 0)
    throw new UserError('Give at least one option to change. See: tabbat help keys change')
  const row = await changeKey(context, id, changes)
  if (options.json) sayJson(context, toKeyView(row))
  else say(`Key ${id} is changed. Its secret is the same.`)
  const revealed = changes.reveal?.filter(isHiddenByDefault) ?? []
  if (revealed.length > 0) warn(`this key gets fields that are hidden by default: ${revealed.join(', ')}.`)
}

function toChanges(options: ChangeOptions): KeyChanges {
  const { name, scope: scopes, expires } = options
  return {
    ...(name !== undefined && { name }),
    ...(scopes && { scopes }),
    ...(expires !== undefined && {
      expiresAt: expires === REMOVED ? undefined : steadyNow() + expires,
    }),
    ...readFlags(options),
  }
}

/** The flags of `tabbat keys create`, one for each option of a key. */
export const toFlags = (): Option[] =>
  listOptions().map(([, { flag, help, choices, read }]) => {
    const option = new Option(flag, help)
    if (choices) option.choices(Object.keys(choices))
    return read ? option.argParser(asOption(read)) : option
  })

/** The flags of `tabbat keys change`, with a word or a flag that removes each option. */
export const toChangeFlags = (): Option[] => listOptions().flatMap(([, option]) => toChangeFlag(option))

function toChangeFlag({ flag, change, choices, read }: AnyOption): Option[] {
  const option = new Option(flag, change.help)
  if ('off' in change) return [option, new Option(flag.replace('--', '--no-'), change.off)]
  if (choices) option.choices([...Object.keys(choices), change.word])
  return [read ? option.argParser(orWord(change.word, asOption(read))) : option]
}

/** The options that are given. */
const readFlags = (given: Readonly<Record<string, unknown>>): Partial<OptionValues> =>
  Object.fromEntries(
    listOptions().flatMap(([, { property, flag, change, choices, none }]) => {
      const value = given[new Option(flag).attributeName()]
      if (value === undefined) return []
      const isRemoved = value === REMOVED || (choices && 'word' in change && value === change.word)
      return [[property, isRemoved ? none : value]]
    }),
  )
