import { type Metric, toCounter, toGauge, toSample } from '../telemetry/metric.ts'
import { toEndpointState } from './endpoint-view.ts'
import type { WebhookTable } from './webhook-table.ts'
import type { Webhooks } from './webhooks.ts'

export type WebhookCounts = Pick<Webhooks, 'counts'>

/** The webhooks that this process has sent. */
export const toWebhookMetrics = ({ counts }: WebhookCounts): Metric[] => [
  toCounter(
    'tabbat_webhook_attempts_total',
    'Attempts to deliver an event to an endpoint, by result.',
    Object.entries(counts).map(([result, count]) => toSample({ result }, count)),
  ),
]

/** The endpoints of all nodes. */
export const createEndpointMetrics = (table: Pick<WebhookTable, 'list'>) => async (): Promise<Metric[]> => {
  const states = (await table.list()).map(toEndpointState)
  const samples = (['active', 'failing', 'disabled'] as const).map((state) =>
    toSample({ state }, states.filter((each) => each === state).length),
  )
  return [toGauge('tabbat_webhook_endpoints', 'Endpoints of webhooks, by state.', samples)]
}
