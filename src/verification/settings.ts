import { duration, type Setting, setting, type ValuesOf, wholeNumber } from '../settings/setting.ts'

/** The settings of verifications that are answered later. */
export const PENDING_SETTINGS = {
  pendingLimit: setting(
    'TABBAT_PENDING_LIMIT',
    '24h',
    duration({ least: '1m', most: '7d' }),
    'How long sources are asked for a pending verification. After it, the answer is 504 expired. See docs/pending.md.',
  ),
  pendingKeep: setting(
    'TABBAT_PENDING_KEEP',
    '24h',
    duration({ least: '1m', most: '30d' }),
    'How long the answer of a pending verification is kept (sealed). After it, the answer is 410 for seven days, then 404. Under an Idempotency-Key the response is stored for 24 hours whatever is set here.',
  ),
  pendingWait: setting(
    'TABBAT_PENDING_WAIT',
    '15s',
    duration({ most: '25s', whyMost: 'the proxies in deploy/ end a request after 30 seconds' }),
    'Longest wait of Prefer: respond-async, wait=SECONDS. A longer one counts as this. At most 25s, because the proxies in deploy/ end a request after 30 seconds.',
  ),
  pendingRetry: setting(
    'TABBAT_PENDING_RETRY',
    '10s',
    duration({ most: '1h' }),
    'Time until the second attempt at a pending verification. It doubles with each attempt, up to TABBAT_PENDING_RETRY_MAX, less up to a quarter at random.',
  ),
  pendingRetryMax: setting(
    'TABBAT_PENDING_RETRY_MAX',
    '15m',
    duration({ most: '24h' }),
    'Longest time between two attempts at a pending verification.',
  ),
  pendingMax: setting(
    'TABBAT_PENDING_MAX',
    '1000000',
    wholeNumber(1, 100_000_000),
    'Pending verifications of all keys. A further one gets 503 queue_full.',
  ),
  pendingMaxPerKey: setting(
    'TABBAT_PENDING_MAX_PER_KEY',
    '100000',
    wholeNumber(1, 100_000_000),
    'Pending verifications of one key. A further one gets 503 queue_full.',
  ),
  pendingConcurrency: setting(
    'TABBAT_PENDING_CONCURRENCY',
    '16',
    wholeNumber(1, 1000),
    'Attempts at pending verifications at the same time, in one process.',
  ),
} satisfies Record<string, Setting<unknown>>

export type PendingSettings = ValuesOf<typeof PENDING_SETTINGS>
