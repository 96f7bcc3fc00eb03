import { type Command, Option } from 'commander'
import { MODES, type Mode, SCOPES, type Scope } from '../contract/scope.ts'
import { isHiddenByDefault } from '../keys/field-policy.ts'
import { toKeyView } from '../keys/key-view.ts'
import { createKey, type NewKey } from '../keys/manage.ts'
import { dim, say, sayJson, strong, warn } from '../server/terminal.ts'
import { type CommandContext, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readFlags, toFlags } from './key-flags.ts'
import { readLifetime, readName, readScopes } from './options.ts'

type CreateOptions = {
  name: string
  mode: Mode
  scope?: Scope[]
  expires?: number
  reveal?: string[]
  json?: true
}

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
  for (const option of toFlags()) command.addOption(option)
  command
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
