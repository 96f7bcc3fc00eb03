/**
 * Webhooks. A delivery is one event for one endpoint. While it is `pending`, `due_at` is when it may be claimed: the next
 * attempt, or the end of the lease of a claim. `position` orders the pending deliveries of a reference. `tries` counts the
 * failed attempts since the event was sent or resent, `attempts` all claims.
 *
 * `webhook_subscriptions` holds the events of an endpoint, for the lineage of each of its keys, or '' for all. `event_states`
 * holds what was last told about a source, a spend cap or the catalogue, so that of several nodes one tells a change.
 */
export const webhooks = {
  id: 27,
  sql: [
    `CREATE TABLE webhook_endpoints (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      url TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      secret BYTEA NOT NULL,
      previous_secret BYTEA,
      previous_until BIGINT,
      disabled_at BIGINT,
      disabled_reason TEXT,
      failing_since BIGINT,
      paused_until BIGINT NOT NULL
    )`,
    `CREATE TABLE webhook_subscriptions (
      endpoint_id TEXT NOT NULL,
      event TEXT NOT NULL,
      lineage TEXT NOT NULL,
      PRIMARY KEY (endpoint_id, event, lineage)
    )`,
    'CREATE INDEX webhook_subscriptions_event ON webhook_subscriptions (event, lineage)',
    `CREATE TABLE webhook_deliveries (
      endpoint_id TEXT NOT NULL,
      event_id TEXT NOT NULL,
      type TEXT NOT NULL,
      reference TEXT NOT NULL,
      position BIGINT NOT NULL,
      body TEXT NOT NULL,
      state TEXT NOT NULL,
      due_at BIGINT NOT NULL,
      tries BIGINT NOT NULL,
      attempts BIGINT NOT NULL,
      finished_at BIGINT,
      PRIMARY KEY (endpoint_id, event_id)
    )`,
    `CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE state = 'pending'`,
    `CREATE INDEX webhook_deliveries_reference ON webhook_deliveries (endpoint_id, reference, position)
      WHERE state = 'pending'`,
    `CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL`,
    `CREATE TABLE webhook_attempts (
      endpoint_id TEXT NOT NULL,
      event_id TEXT NOT NULL,
      attempt BIGINT NOT NULL,
      at BIGINT NOT NULL,
      status BIGINT,
      duration_ms BIGINT NOT NULL,
      problem TEXT,
      PRIMARY KEY (endpoint_id, event_id, attempt)
    )`,
    'CREATE INDEX webhook_attempts_at ON webhook_attempts (at)',
    `CREATE TABLE event_states (
      name TEXT PRIMARY KEY,
      state TEXT NOT NULL,
      at BIGINT NOT NULL
    )`,
  ],
} as const
