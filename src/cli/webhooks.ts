import type { Command } from 'commander'
import { say, sayJson, toCount, toTable } from '../server/terminal.ts'
import { MOST_COUNTED, toEndpointView, toTestView } from '../webhooks/endpoint-view.ts'
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findEndpoint,
  testEndpoint,
} from '../webhooks/manage.ts'
import { openWebhookPost } from '../webhooks/webhooks.ts'
import { EXISTING, type ReadContext, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { requireConfirmation } from './prompt.ts'
import { addDeliveriesCommand, addResendCommand } from './webhooks-deliveries.ts'
import {
  addCreateEndpointCommand,
  addRollEndpointCommand,
  ENDPOINT_ID,
  toEndpointDeps,
} from './webhooks-secret.ts'

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
    rows.map(async (row) => toEndpointView(row, await store.deliveries.countPending(row.id, MOST_COUNTED))),
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
    const waiting = await context.store.deliveries.countPending(id, MOST_COUNTED)
    const loss = waiting === 0 ? '' : ` Not sent yet, and then never: ${toCount(waiting, 'event')}.`
    const question = `Permanently delete the endpoint ${name} with its secret and its deliveries?${loss}`
    await requireConfirmation(question, yes, 'Nothing was deleted.')
    await deleteEndpoint(toEndpointDeps(context), id)
    if (json) sayJson(context, { id, deleted: true })
    else say(`Endpoint ${id} is deleted.`)
  }, EXISTING)
