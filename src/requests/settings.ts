import { duration, orOff, type Setting, setting, type ValuesOf, wholeNumber } from '../settings/setting.ts'

/** The request log, and what the metrics say about keys. */
export const REQUEST_SETTINGS = {
  requestsKeep: setting(
    'TABBAT_REQUESTS_KEEP',
    '7d',
    orOff(duration({ least: '1h', most: '400d' })),
    'How long the request log is kept: which key sent which request when, with its status and error code, without personal data. off: nothing is recorded, and what was recorded is deleted. See docs/monitoring.md.',
  ),
  requestsMax: setting(
    'TABBAT_REQUESTS_MAX',
    '5000000',
    wholeNumber(1000, 1_000_000_000),
    'Most requests in the request log. Older ones are deleted, also before TABBAT_REQUESTS_KEEP.',
  ),
  metricsKeys: setting(
    'TABBAT_METRICS_KEYS',
    '100',
    orOff(wholeNumber(1, 10_000)),
    'How many API keys each process counts apart in the metric tabbat_key_requests_total, by their public ids. Requests of further keys are counted together. off: the metric is left out.',
  ),
} satisfies Record<string, Setting<unknown>>

export type RequestSettings = ValuesOf<typeof REQUEST_SETTINGS>
