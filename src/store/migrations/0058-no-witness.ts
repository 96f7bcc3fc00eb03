/** Checkpoints are events of webhooks: what was sent is in `webhook_deliveries`. */
export const noWitness = {
  id: 58,
  sql: ['DROP TABLE witness_receipts', 'DROP TABLE witness_states'],
} as const
