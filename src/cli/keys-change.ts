import { type Command, Option } from 'commander'
import { REQUIRE_MATCH, type RequireMatch } from '../contract/person-details.ts'
import { SCOPES, type Scope } from '../contract/scope.ts'
import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { changeKey, type KeyChanges } from '../keys/change-key.ts'
import { isHiddenByDefault } from '../keys/field-policy.ts'
import { toKeyView } from '../keys/key-view.ts'
import { say, sayJson, warn } from '../server/terminal.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import {
  orWord,
  REMOVED,
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

/** Absent: unchanged. */
type ChangeOptions = {
  name?: string
  scope?: Scope[]
  expires?: number | typeof REMOVED
  ip?: string[] | typeof REMOVED
  clientCert?: string[] | typeof REMOVED
  hide?: string[] | typeof REMOVED
  reveal?: string[] | typeof REMOVED
  subjectsPerDay?: number | typeof REMOVED
  requireConsent?: boolean
  asyncWhenDown?: boolean
  requireMatch?: RequireMatch | 'none'
  owner?: string | typeof REMOVED
  note?: string | typeof REMOVED
  json?: true
}

export function addChangeKeyCommand(keys: Command, idHelp: string): void {
  const command = keys
    .command('change')
    .description('change the options of a key; its secret stays the same')
    .argument('<id>', idHelp)
    .action((id: string, options: ChangeOptions) =>
      withCommandContext((context) => run(context, id, options), EXISTING),
    )
  addOptions(command)
  addHelp(command, {
    details:
      'A list replaces the one before. Running servers follow within a second, on other machines within five. The audit log gets the values before and after. A key that has ended or was rolled cannot be changed.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'keys change k3JbvwRd --subjects-per-day 500 --expires 90d': 'a lower limit, and an end',
      'keys change k3JbvwRd --ip any --note "address list removed, see change 481"':
        'usable from any address',
    },
  })
}

function addOptions(command: Command): void {
  command
    .option('--name <name>', 'what the key is for; never the name of a person', readName)
    .option('--scope <scopes>', `what it may do: ${SCOPES.join(', ')}`, readScopes)
    .option(
      '--expires <time>',
      'time from now until it expires, for example 90d, or never',
      orWord('never', readLifetime),
    )
    .option(
      '--ip <addresses>',
      'IP addresses or networks it may be used from, or any',
      orWord('any', readAddresses),
    )
    .option(
      '--client-cert <fingerprints>',
      'TLS client certificates it may be used with, or none',
      orWord('none', readClientCerts),
    )
    .option(
      '--hide <fields>',
      'fields to hide in addition to the default ones (with the fields derived from them), or none',
      orWord('none', readFields),
    )
    .option(
      '--reveal <fields>',
      'fields to show that are hidden by default, or none',
      orWord('none', readFields),
    )
    .option(
      '--subjects-per-day <number>',
      'different people it may verify per day, or default',
      orWord('default', readCount),
    )
    .option('--require-consent', 'refuse verifications without the header X-Consent-Reference')
    .option('--no-require-consent', 'accept verifications without it')
    .option('--async-when-down', 'answer 202 (pending) while no source can answer; see docs/pending.md')
    .option('--no-async-when-down', 'answer 502, 503 or 504 while no source can answer')
    .addOption(
      new Option(
        '--require-match <details>',
        'details that each verification must give, and that must match',
      ).choices([...Object.keys(REQUIRE_MATCH), 'none']),
    )
    .option('--owner <text>', 'the team that answers for the key, or none', orWord('none', readOwner))
    .option('--note <text>', 'a note of one line, or none', orWord('none', readNote))
    .option('--json', 'print a JSON object')
}

async function run(context: CommandContext, id: string, options: ChangeOptions): Promise<void> {
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
  const { expires, requireMatch } = options
  const toFields = (fields: ChangeOptions['hide']) => (fields === REMOVED ? [] : fields)
  const changes = {
    name: options.name,
    scopes: options.scope,
    expiresAt: typeof expires === 'number' ? steadyNow() + expires : expires,
    allowedIps: options.ip,
    clientCerts: options.clientCert,
    hide: toFields(options.hide),
    reveal: toFields(options.reveal),
    subjectsPerDay: options.subjectsPerDay,
    requiresConsent: options.requireConsent,
    asyncWhenDown: options.asyncWhenDown,
    requireMatch: requireMatch === 'none' ? REMOVED : requireMatch,
    owner: options.owner,
    note: options.note,
  } satisfies Record<keyof KeyChanges, unknown>
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name, value === REMOVED ? undefined : value]),
  ) as KeyChanges
}
