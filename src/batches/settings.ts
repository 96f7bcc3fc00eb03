import { credential, setting, type ValuesOf, wholeNumber } from '../settings/setting.ts'

/** The settings of batches, and of the command that sends them. */
export const BATCH_SETTINGS = {
  batchRate: setting(
    'TABBAT_BATCH_RATE',
    '600',
    wholeNumber(1, 1_000_000),
    'Rows of batches per minute and key, over all nodes. A batch of 50 000 rows takes 83 minutes at 600. More rows leave less for single requests: see docs/batches.md.',
  ),
  batchConcurrency: setting(
    'TABBAT_BATCH_CONCURRENCY',
    '4',
    wholeNumber(1, 1000),
    'Rows of batches that one process verifies at the same time.',
  ),
  batchesPerKey: setting(
    'TABBAT_BATCHES_PER_KEY',
    '10',
    wholeNumber(1, 1000),
    'Batches of one key that have not ended. A further batch gets 503.',
  ),
  apiKey: setting(
    'TABBAT_API_KEY',
    undefined,
    credential,
    'API key of tabbat verify-file. The server does not use it.',
    true,
  ),
}

export type BatchSettings = ValuesOf<typeof BATCH_SETTINGS>
