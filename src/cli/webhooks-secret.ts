import type { Command } from 'commander'
import { EVENT_TYPES } from '../contract/event.ts'
import { OVERLAP } from '../keys/key-options.ts'
import { dim, say, sayJson, strong, warn } from '../server/terminal.ts'
import { toEndpointView } from '../webhooks/endpoint-view.ts'
import { createEndpoint, type EndpointDeps, type NewSecret, rollEndpoint } from '../webhooks/manage.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readKeyDuration } from './options.ts'

export const ENDPOINT_ID = 'id of the endpoint, as "tabbat webhooks list" shows it'

export const toEndpointDeps = ({ store, keyring, audit, config }: CommandContext): EndpointDeps => ({
  store,
  keyring,
  audit,
  allowPrivate: config.webhooksPrivate === 'on',
})

const readList = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
]

type CreateOptions = { name: string; url: string; event: string[]; key?: string[]; json?: true }

export function addCreateEndpointCommand(webhooks: Command): void {
  const command = webhooks
    .command('create')
    .description('create an endpoint; its secret is shown once and cannot be shown again')
    .requiredOption('--name <name>', 'what the endpoint is for; never the name of a person')
    .requiredOption('--url <url>', 'https address that gets the events; without a secret in it')
    .requiredOption('--event <events>', `events, separated by commas: ${EVENT_TYPES.join(', ')}`, readList)
    .option(
      '--key <ids>',
      'ids of the API keys it belongs to, separated by commas (default: none; it belongs to the operator and gets the events of all keys)',
      readList,
    )
    .option('--json', 'print a JSON object')
    .action((options: CreateOptions) =>
      withCommandContext(async (context) => {
        const { name, url, event: events, key: keys = [] } = options
        const created = await createEndpoint(toEndpointDeps(context), { name, url, events, keys })
        showSecret(context, created, options.json)
      }),
    )
  addHelp(command, {
    details: 'The receiver checks the signature of each request with the secret. See docs/webhooks.md.',
    usesDatabase: true,
    settings: ['TABBAT_WEBHOOKS_PRIVATE'],
    exitCodes: EXIT_CODES,
    examples: {
      'webhooks create --name shop --url https://shop.example/hooks --event verification.completed,verification.expired --key k3JbvwRd':
        'the verifications of one key',
      'webhooks create --name alarm --url https://ops.example/tabbat --event source.down,source.up,spend.near_cap,audit.unavailable':
        'what the operator should know',
    },
  })
}

export function addRollEndpointCommand(webhooks: Command): void {
  const command = webhooks
    .command('roll')
    .description('replace the secret of an endpoint; both sign until the overlap ends')
    .argument('<id>', ENDPOINT_ID)
    .option('--overlap <time>', `how long the old secret still signs (default: ${OVERLAP})`, readKeyDuration)
    .option('--json', 'print a JSON object')
    .action((id: string, { overlap, json }: { overlap?: number; json?: true }) =>
      withCommandContext(async (context) => {
        const overlapMs = overlap ?? readKeyDuration(OVERLAP)
        showSecret(context, await rollEndpoint(toEndpointDeps(context), id, overlapMs), json)
      }, EXISTING),
    )
  addHelp(command, {
    details: 'The new secret is shown once. Give it to the receiver before the overlap ends.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'webhooks roll whk_0123456789abcdef': 'the old secret signs for another 24 hours',
      'webhooks roll whk_0123456789abcdef --overlap 0s': 'the old secret has leaked',
    },
  })
}

function showSecret(context: CommandContext, { secret, row }: NewSecret, json: true | undefined): void {
  if (json) {
    sayJson(context, { secret, ...toEndpointView(row, 0) })
    return
  }
  say(strong(secret))
  say(dim(`id ${row.id}, ${row.events.join(', ')}, keys ${row.lineages.join(', ') || 'all (operator)'}`))
  warn('the secret is shown only once. Store it now.')
}
