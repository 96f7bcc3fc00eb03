import { type Metric, toCounter, toSample } from '../telemetry/metric.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

export type WebhookCounts = Pick<Webhooks, 'counts'>

/** The webhooks that this process has sent. */
export const toWebhookMetrics = ({ counts }: WebhookCounts): Metric[] => [
  toCounter(
    'tabbat_webhook_attempts_total',
    'Attempts to deliver an event to an endpoint, by result.',
    Object.entries(counts).map(([result, count]) => toSample({ result }, count)),
  ),
]
