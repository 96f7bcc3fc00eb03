import type { Command } from 'commander'
import { say, sayJson, toTable } from '../server/terminal.ts'
import { toDeliveryView } from '../webhooks/endpoint-view.ts'
import { findEndpoint, resendEvent } from '../webhooks/manage.ts'
import { EXISTING, type ReadContext, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readCount } from './options.ts'
import { ENDPOINT_ID, toEndpointDeps } from './webhooks-secret.ts'

const SHOWN = 20
const MOST_SHOWN = 1000

type ListOptions = { limit?: number; before?: string; json?: true }

export function addDeliveriesCommand(webhooks: Command): void {
  const command = webhooks
    .command('deliveries')
    .description('the events of an endpoint, the newest first, with status, duration and number of attempts')
    .argument('<id>', ENDPOINT_ID)
    .option('--limit <number>', `how many, at most ${MOST_SHOWN} (default: ${SHOWN})`, readCount)
    .option('--before <event>', 'only events older than this one, for the next page')
    .option('--json', 'print a JSON array, with every attempt')
    .action((id: string, options: ListOptions) => withStore((context) => list(context, id, options)))
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

async function list({ store }: ReadContext, id: string, options: ListOptions): Promise<void> {
  await findEndpoint({ store }, id)
  const most = Math.min(options.limit ?? SHOWN, MOST_SHOWN)
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

export function addResendCommand(webhooks: Command): void {
  const command = webhooks
    .command('resend')
    .description('send an event again, with the same webhook-id, whatever became of it')
    .argument('<id>', ENDPOINT_ID)
    .argument('<event>', 'id of the event, as "tabbat webhooks deliveries" shows it')
    .option('--json', 'print a JSON object')
    .action((id: string, event: string, { json }: { json?: true }) =>
      withCommandContext(async (context) => {
        await resendEvent(toEndpointDeps(context), id, event)
        if (json) sayJson(context, { id, event, resent: true })
        else say(`Event ${event} will be sent again by a running server.`)
      }, EXISTING),
    )
  addHelp(command, {
    details: 'A running server sends it within a second. Its retries begin anew.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'webhooks resend whk_0123456789abcdef evt_0mwik6bcs84cf80031b800d749e4d51a9': 'send one event again',
      'webhooks resend whk_0123456789abcdef evt_0mwik6bcs84cf80031b800d749e4d51a9 --json': 'print JSON',
    },
  })
}
