import { type Command, Option } from 'commander'
import { dim, say, sayJson, strong, toTable, warn } from '../app/terminal.ts'
import { MODES, type Mode, SCOPES, type Scope } from '../contract/scope.ts'
import { SUBJECTS_PER_DAY } from '../keys/api-key.ts'
import { OVERLAP } from '../keys/key-options.ts'
import { toKeyState, toKeyView } from '../keys/key-view.ts'
import { createKey, type NewKey, revokeKey, rollKey } from '../keys/manage.ts'
import type { Store } from '../store/store.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import {
  readAddresses,
  readCount,
  readFields,
  readKeyDuration,
  readLifetime,
  readName,
  readScopes,
} from './options.ts'
import { addRotateRootCommand } from './rotate-root.ts'

type CreateOptions = {
  name: string
  mode: Mode
  scope?: Scope[]
  expires?: number
  ip?: string[]
  hide?: string[]
  reveal?: string[]
  subjectsPerDay?: number
  requireConsent?: true
  json?: true
}

export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('make, list, revoke and roll API keys; rotate the root key')

  keys
    .command('create')
    .description('make a key; it is shown once and cannot be shown again')
    .requiredOption('--name <name>', 'what the key is for, for you to recognise it', readName)
    .addOption(
      new Option('--mode <mode>', 'test: synthetic people; live: your sources')
        .choices(MODES)
        .makeOptionMandatory(),
    )
    .option(
      '--scope <scopes>',
      `what it may do: ${SCOPES.join(', ')} (default: all), separated by commas`,
      readScopes,
    )
    .option('--expires <time>', 'when it ends, for example 12h, 90d or 1y (default: never)', readLifetime)
    .option(
      '--ip <addresses>',
      'addresses or networks it may come from, separated by commas (default: any)',
      readAddresses,
    )
    .option('--hide <fields>', 'fields to hide besides the usual, such as religion,image_url', readFields)
    .option('--reveal <fields>', 'hidden fields to show, such as next_of_kin: grant it with care', readFields)
    .option(
      '--subjects-per-day <number>',
      `people it may ask about in a day (default: ${SUBJECTS_PER_DAY})`,
      readCount,
    )
    .option('--require-consent', 'every verification must carry X-Consent-Reference')
    .option('--json', 'print an object for a program')
    .action((options: CreateOptions) => withCommandContext((office) => create(office, options)))

  keys
    .command('list')
    .description('list the keys, without their secrets')
    .option('--json', 'print an array for a program')
    .action((options: { json?: true }) => withStore(({ store }) => list(store, options)))

  keys
    .command('revoke <id>')
    .description('end a key now; running servers obey within a second')
    .option('--json', 'print an object for a program')
    .action(runRevoke)

  keys
    .command('roll <id>')
    .description(
      'replace a key by a new one with the same rights; the old one works until the overlap is over',
    )
    .option('--overlap <time>', 'how long the old key goes on working (default: 24h)', readKeyDuration)
    .option('--json', 'print an object for a program')
    .action((id: string, options: { overlap?: number; json?: true }) =>
      withCommandContext(async (office) => {
        const overlapMs = options.overlap ?? readKeyDuration(OVERLAP)
        show(office, await rollKey(office, id, overlapMs), options.json)
      }, EXISTING),
    )

  addRotateRootCommand(keys)
}

/** Asks nothing, on purpose: this is what to do at once when a key has leaked. */
const runRevoke = (id: string, { json }: { json?: true }) =>
  withCommandContext(async (office) => {
    await revokeKey(office, id)
    if (json) sayJson(office, { id, revoked: true })
    else say(`Key ${id} is revoked.`)
  }, EXISTING)

async function create(office: CommandContext, options: CreateOptions): Promise<void> {
  const { name, mode, scope = [...SCOPES], expires, ip, hide, reveal } = options
  const { subjectsPerDay, requireConsent = false } = options
  const expiresAt = expires === undefined ? undefined : Date.now() + expires
  const wishes = {
    name,
    mode,
    scopes: scope,
    expiresAt,
    allowedIps: ip,
    subjectsPerDay,
    requiresConsent: requireConsent,
  }
  show(
    office,
    await createKey(office, { ...wishes, ...(hide && { hide }), ...(reveal && { reveal }) }),
    options.json,
  )
  if (reveal) warn(`this key sees what is hidden from others: ${reveal.join(', ')}.`)
}

function show(office: CommandContext, { text, row }: NewKey, json: true | undefined): void {
  if (json) {
    sayJson(office, { key: text, ...toKeyView(row) })
    return
  }
  say(strong(text))
  say(
    dim(
      `id ${row.id}, ${row.mode} mode, ${row.scopes.join(', ')}, expires ${toDay(row.expiresAt) ?? 'never'}`,
    ),
  )
  warn('the key is shown this once only: keep it now.')
}

async function list(store: Store, { json }: { json?: true }): Promise<void> {
  const rows = await store.keys.list()
  if (json) return say(JSON.stringify(rows.map(toKeyView)))
  if (rows.length === 0)
    return say('There are no keys yet. Make one with: tabbat keys create --name <name> --mode test')
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

const toDay = (at: number | undefined) =>
  at === undefined ? undefined : new Date(at).toISOString().slice(0, 10)
