import type { Command } from 'commander'
import { SCOPES, type Scope } from '../contract/scope.ts'
import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { isHiddenByDefault } from '../keys/field-policy.ts'
import { changeKey, type KeyChanges, toKeyView } from '../keys/manage.ts'
import { say, sayJson, warn } from '../server/terminal.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readFlags, toChangeFlags } from './key-flags.ts'
import { orWord, REMOVED, readLifetime, readName, readScopes } from './options.ts'

/** Absent: unchanged. */
type ChangeOptions = {
  name?: string
  scope?: Scope[]
  expires?: number | typeof REMOVED
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
  for (const option of toChangeFlags()) command.addOption(option)
  command.option('--json', 'print a JSON object')
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
