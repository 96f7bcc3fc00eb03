import type { Command } from 'commander'
import { EVENT_TYPES } from '../contract/event.ts'
import { UserError } from '../errors.ts'
import { OVERLAP } from '../keys/key-options.ts'
import { dim, say, sayJson, strong, toCount, toTable, warn } from '../server/terminal.ts'
import { MAX_COUNTED, toDeliveryView, toEndpointView, toTestView } from '../webhooks/endpoint-view.ts'
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  type EndpointDeps,
  enableEndpoint,
  findEndpoint,
  MAX_RESENT,
  type NewSecret,
  resendEvent,
  resendFailedEvents,
  rollEndpoint,
  testEndpoint,
} from '../webhooks/manage.ts'
import { openWebhookPost } from '../webhooks/webhooks.ts'
import {
  type CommandContext,
  EXISTING,
  type ReadContext,
  withCommandContext,
  withStore,
} from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { DATE_NOTE, readCount, readKeyDuration, readSince } from './options.ts'
import { requireConfirmation } from './prompt.ts'

export function addWebhooksCommand(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('send signed events to endpoints: create, test, roll, disable; see and resend deliveries')
  addHelp(webhooks, {
    details: 'Requests are signed as Standard Webhooks specifies. See docs/webhooks.md.',
    examples: {
      'webhooks create --name shop --url https://shop.example/hooks --event verification.completed':
        'tell a shop about its verifications',
      'webhooks deliveries whk_0123456789abcdef': 'what was sent, and how it was answered',
    },
  })
  addCreateEndpointCommand(webhooks)
  addListCommand(webhooks)
  addTestCommand(webhooks)
  addRollEndpointCommand(webhooks)
  addChangeCommands(webhooks)
  addDeleteCommand(webhooks)
  addDeliveriesCommand(webhooks)
  addResendCommand(webhooks)
}

const ENDPOINT_ID = 'id of the endpoint, as "tabbat webhooks list" shows it'

const toEndpointDeps = ({ store, keyring, audit, config }: CommandContext): EndpointDeps => ({
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

function addCreateEndpointCommand(webhooks: Command): void {
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

function addRollEndpointCommand(webhooks: Command): void {
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

function addListCommand(webhooks: Command): void {
  const command = webhooks
    .command('list')
    .description('list the endpoints, without their secrets')
    .option('--json', 'print a JSON array')
    .action((options: { json?: true }) => withStore((context) => list(context, options)))
  addHelp(command, {
    details: 'Keys are named by the first key of their lineage: an endpoint stays with a key that is rolled.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'webhooks list': 'a table', 'webhooks list --json': 'a JSON array' },
  })
}

async function list({ store }: ReadContext, { json }: { json?: true }): Promise<void> {
  const rows = await store.webhooks.list()
  const views = await Promise.all(
    rows.map(async (row) => toEndpointView(row, await store.deliveries.countPending(row.id, MAX_COUNTED))),
  )
  if (json) return say(JSON.stringify(views))
  if (views.length === 0) return say('There are no endpoints yet. Create one with: tabbat webhooks create')
  const cells = views.map(({ id, state, disabled_reason, pending, keys, events, url, name }) => [
    id,
    disabled_reason === null ? state : `${state} (${disabled_reason})`,
    String(pending),
    keys.join(' ') || 'operator',
    events.join(' '),
    new URL(url).host,
    name,
  ])
  say(toTable([['id', 'state', 'pending', 'keys', 'events', 'host', 'name'], ...cells]))
}

function addTestCommand(webhooks: Command): void {
  const command = webhooks
    .command('test')
    .description('send a signed test event (webhook.test) once, and print the response')
    .argument('<id>', ENDPOINT_ID)
    .option('--json', 'print a JSON object')
    .action(runTest)
  addHelp(command, {
    details:
      'It is sent from this machine, also to a disabled endpoint, and is not in the log of deliveries.',
    usesDatabase: true,
    settings: ['TABBAT_WEBHOOKS_PRIVATE'],
    exitCodes: { 0: 'the receiver answered 2xx', 1: 'it did not, or the event was not sent' },
    examples: {
      'webhooks test whk_0123456789abcdef': 'send one event',
      'webhooks test whk_0123456789abcdef --json': 'print JSON',
    },
  })
}

const runTest = (id: string, { json }: { json?: true }) =>
  withCommandContext(async (context) => {
    const deps = toEndpointDeps(context)
    const { post, close } = openWebhookPost(deps.allowPrivate)
    const result = toTestView(await testEndpoint(deps, id, post).finally(close))
    if (json) sayJson(context, result)
    else {
      say(
        `${result.status === null ? 'No response' : `Status ${result.status}`}, after ${result.duration_ms} ms.`,
      )
      say(result.explanation)
    }
    if (!result.ok) process.exitCode = 1
  }, EXISTING)

const CHANGES = {
  disable: {
    run: disableEndpoint,
    description: 'send nothing to an endpoint until it is enabled',
    details:
      'Events that happen meanwhile are not stored for it. What waits is sent when it is enabled again.',
    done: 'disabled',
  },
  enable: {
    run: enableEndpoint,
    description: 'send events to a disabled endpoint again',
    details: 'What waited is sent now.',
    done: 'enabled',
  },
} as const

function addChangeCommands(webhooks: Command): void {
  for (const [name, { run, description, details, done }] of Object.entries(CHANGES)) {
    const command = webhooks
      .command(name)
      .description(description)
      .argument('<id>', ENDPOINT_ID)
      .option('--json', 'print a JSON object')
      .action((id: string, { json }: { json?: true }) =>
        withCommandContext(async (context) => {
          await run(toEndpointDeps(context), id)
          if (json) sayJson(context, { id, [done]: true })
          else say(`Endpoint ${id} is ${done}.`)
        }, EXISTING),
      )
    addHelp(command, {
      details,
      usesDatabase: true,
      exitCodes: EXIT_CODES,
      examples: {
        [`webhooks ${name} whk_0123456789abcdef`]: 'the id is in "tabbat webhooks list"',
        [`webhooks ${name} whk_0123456789abcdef --json`]: 'print JSON',
      },
    })
  }
}

function addDeleteCommand(webhooks: Command): void {
  const command = webhooks
    .command('delete')
    .description('delete an endpoint with its secret and its deliveries')
    .argument('<id>', ENDPOINT_ID)
    .option('--yes', 'delete without asking')
    .option('--json', 'print a JSON object')
    .action(runDelete)
  addHelp(command, {
    details: 'It cannot be undone. What waits is not sent.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'webhooks delete whk_0123456789abcdef': 'ask, then delete',
      'webhooks delete whk_0123456789abcdef --yes --json': 'delete without asking, print JSON',
    },
  })
}

const runDelete = (id: string, { yes, json }: { yes?: true; json?: true }) =>
  withCommandContext(async (context) => {
    const { name } = await findEndpoint(context, id)
    const waiting = await context.store.deliveries.countPending(id, MAX_COUNTED)
    const loss = waiting === 0 ? '' : ` Not sent yet, and then never: ${toCount(waiting, 'event')}.`
    const question = `Permanently delete the endpoint ${name} with its secret and its deliveries?${loss}`
    await requireConfirmation(question, yes, 'Nothing was deleted.')
    await deleteEndpoint(toEndpointDeps(context), id)
    if (json) sayJson(context, { id, deleted: true })
    else say(`Endpoint ${id} is deleted.`)
  }, EXISTING)

const SHOWN = 20
const MAX_SHOWN = 1000

type ListOptions = { limit?: number; before?: string; json?: true }

function addDeliveriesCommand(webhooks: Command): void {
  const command = webhooks
    .command('deliveries')
    .description('the events of an endpoint, the newest first, with status, duration and number of attempts')
    .argument('<id>', ENDPOINT_ID)
    .option('--limit <number>', `how many, at most ${MAX_SHOWN} (default: ${SHOWN})`, readCount)
    .option('--before <event>', 'only events older than this one, for the next page')
    .option('--json', 'print a JSON array, with every attempt')
    .action((id: string, options: ListOptions) =>
      withStore((context) => listDeliveries(context, id, options)),
    )
  addHelp(command, {
    usesDatabase: true,
    settings: ['TABBAT_WEBHOOKS_LOG'],
    exitCodes: EXIT_CODES,
    examples: {
      'webhooks deliveries whk_0123456789abcdef': 'a table',
      'webhooks deliveries whk_0123456789abcdef --limit 100 --json': 'a JSON array',
    },
  })
}

async function listDeliveries({ store }: ReadContext, id: string, options: ListOptions): Promise<void> {
  await findEndpoint({ store }, id)
  const most = Math.min(options.limit ?? SHOWN, MAX_SHOWN)
  const rows = await store.deliveries.list({ endpointId: id, most, before: options.before })
  const views = rows.map(toDeliveryView)
  if (options.json) return say(JSON.stringify(views))
  if (views.length === 0) return say('Nothing was sent to this endpoint.')
  const cells = views.map((view) => {
    const last = view.attempts.at(-1)
    return [
      view.event_id,
      view.type,
      view.state,
      String(view.attempts.length),
      last ? String(last.status ?? last.problem) : '-',
      last ? `${last.duration_ms} ms` : '-',
      view.next_attempt_at ?? view.finished_at ?? '-',
    ]
  })
  say(toTable([['event', 'type', 'state', 'attempts', 'last', 'took', 'next or finished'], ...cells]))
}

type ResendOptions = { failed?: true; since?: string; json?: true }

function addResendCommand(webhooks: Command): void {
  const command = webhooks
    .command('resend')
    .description('send an event again, with the same webhook-id, or all events that failed')
    .argument('<id>', ENDPOINT_ID)
    .argument('[event]', 'id of the event, as "tabbat webhooks deliveries" shows it; or --failed')
    .option('--failed', `all events that were given up, the oldest first, at most ${MAX_RESENT}`)
    .option('--since <time>', 'with --failed: only those that were given up since this time', readSince)
    .option('--json', 'print a JSON object')
    .action((id: string, event: string | undefined, options: ResendOptions) =>
      withCommandContext((context) => runResend(context, id, event, options), EXISTING),
    )
  addHelp(command, {
    details: `A running server sends them within a second. Their retries begin anew. ${DATE_NOTE}`,
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'webhooks resend whk_0123456789abcdef evt_0mwik6bcs84cf80031b800d749e4d51a9': 'send one event again',
      'webhooks resend whk_0123456789abcdef --failed --since 6h': 'all that failed in the last six hours',
    },
  })
}

async function runResend(
  context: CommandContext,
  id: string,
  event: string | undefined,
  { failed, since, json }: ResendOptions,
): Promise<void> {
  if ((event === undefined) === (failed === undefined))
    throw new UserError('Give the id of an event, or --failed for all that failed.')
  if (since !== undefined && !failed) throw new UserError('--since needs --failed.')
  const deps = toEndpointDeps(context)
  if (event !== undefined) {
    await resendEvent(deps, id, event)
    if (json) sayJson(context, { id, event, resent: true })
    else say(`Event ${event} will be sent again by a running server.`)
    return
  }
  const resent = await resendFailedEvents(deps, id, since === undefined ? 0 : Date.parse(since))
  const isCut = resent === MAX_RESENT
  if (json) return sayJson(context, { id, resent, is_cut: isCut })
  if (resent === 0) return say('No event of this endpoint has failed in this time. Nothing is sent.')
  say(`${toCount(resent, 'event')} will be sent again by a running server.`)
  if (isCut) say('There may be more. Run the command again when these were sent.')
}
