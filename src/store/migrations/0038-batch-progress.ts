/**
 * How many rows of a batch had ended at two moments, about a minute apart: its estimated end follows the rate since then, and not
 * the time that it waited for other batches or for a source that was down.
 */
export const batchProgress = {
  id: 38,
  sql: [
    'ALTER TABLE batches ADD COLUMN mark_at BIGINT',
    'ALTER TABLE batches ADD COLUMN mark_ended BIGINT',
    'ALTER TABLE batches ADD COLUMN earlier_at BIGINT',
    'ALTER TABLE batches ADD COLUMN earlier_ended BIGINT',
  ],
} as const
