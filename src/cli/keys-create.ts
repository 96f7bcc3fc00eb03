import { type Command, Option } from 'commander'
import { REQUIRE_MATCH, type RequireMatch } from '../contract/person-details.ts'
import { MODES, type Mode, SCOPES, type Scope } from '../contract/scope.ts'
import { SUBJECTS_PER_DAY } from '../keys/api-key.ts'
import { isHiddenByDefault } from '../keys/field-policy.ts'
import { toKeyView } from '../keys/key-view.ts'
import { createKey, type NewKey } from '../keys/manage.ts'
import { dim, say, sayJson, strong, warn } from '../server/terminal.ts'
import { type CommandContext, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import {
  readAddresses,
  readClientCerts,
  readCount,
  readFields,
  readLifetime,
  readName,
  readNote,
  readOwner,
  readScopes,
} from './options.ts'

type CreateOptions = {
  name: string
  mode: Mode
  scope?: Scope[]
  expires?: number
  ip?: string[]
  clientCert?: string[]
  hide?: string[]
  reveal?: string[]
  subjectsPerDay?: number
  requireConsent?: true
  asyncWhenDown?: true
  requireMatch?: RequireMatch
  owner?: string
  note?: string
  json?: true
}

export const CLIENT_CERT =
  'TLS client certificates it may be used with, as sha256:<fingerprint>, separated by commas (default: none is needed)'

export function addCreateKeyCommand(keys: Command): void {
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
    .option(
      '--ip <addresses>',
      'IP addresses or networks it may be used from, separated by commas (default: any)',
      readAddresses,
    )
    .option('--client-cert <fingerprints>', CLIENT_CERT, readClientCerts)
    .option(
      '--hide <fields>',
      'fields to hide in addition to the default ones, such as religion,image_url (with the fields derived from them)',
      readFields,
    )
    .option('--reveal <fields>', 'fields to show that are hidden by default, such as next_of_kin', readFields)
    .option(
      '--subjects-per-day <number>',
      `different people it may verify per day (default: ${SUBJECTS_PER_DAY})`,
      readCount,
    )
    .option('--require-consent', 'refuse verifications without the header X-Consent-Reference')
    .option(
      '--async-when-down',
      'answer 202 (pending) instead of 502, 503 or 504 while no source can answer; see docs/pending.md',
    )
    .addOption(
      new Option(
        '--require-match <details>',
        'details that each verification must give, and that must match: name, dob (date of birth) or both',
      ).choices(Object.keys(REQUIRE_MATCH)),
    )
    .option('--owner <text>', 'the team that answers for the key', readOwner)
    .option('--note <text>', 'a note of one line', readNote)
    .option('--json', 'print a JSON object')
    .action((options: CreateOptions) => withCommandContext((context) => create(context, options)))
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

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { name, mode, scope = [...SCOPES], expires, ip, clientCert, hide, reveal } = options
  const { subjectsPerDay, requireConsent = false, asyncWhenDown = false, requireMatch, owner, note } = options
  const expiresAt = expires === undefined ? undefined : Date.now() + expires
  const keyOptions = {
    name,
    mode,
    scopes: scope,
    expiresAt,
    allowedIps: ip,
    clientCerts: clientCert,
    subjectsPerDay,
    requiresConsent: requireConsent,
    asyncWhenDown,
    requireMatch,
    owner,
    note,
  }
  showNewKey(
    context,
    await createKey(context, { ...keyOptions, ...(hide && { hide }), ...(reveal && { reveal }) }),
    options.json,
  )
  const revealed = reveal?.filter(isHiddenByDefault) ?? []
  if (revealed.length > 0) warn(`this key gets fields that are hidden by default: ${revealed.join(', ')}.`)
  for (const word of reveal?.filter((each) => !isHiddenByDefault(each)) ?? [])
    warn(`${word} is not hidden by default, so --reveal changes nothing for it.`)
}

export function showNewKey(context: CommandContext, { text, row }: NewKey, json: true | undefined): void {
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

export const toDay = (at: number | undefined) =>
  at === undefined ? undefined : new Date(at).toISOString().slice(0, 10)
