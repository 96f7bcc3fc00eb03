/** What a test key meets in the sandbox: the number, what it is good for, the status, what happens. */
type SandboxNumber = {
  readonly number: string
  readonly use: 'NIN, BVN' | 'BVN' | 'phone'
  readonly status: number
  /** May have words in backquotes. */
  readonly effect: string
}

export const SANDBOX_NUMBERS: readonly SandboxNumber[] = [
  {
    number: '00000000001',
    use: 'NIN, BVN',
    status: 200,
    effect: 'A sparse record: the number and the phone, and hardly anything else.',
  },
  {
    number: '00000000002',
    use: 'BVN',
    status: 200,
    effect: 'A BVN on the watch list: `watchlisted` says so.',
  },
  {
    number: '00000000003',
    use: 'NIN, BVN',
    status: 200,
    effect: 'Long and accented names, and a long address.',
  },
  { number: '00000000422', use: 'NIN, BVN', status: 422, effect: 'Not verified: `not_verified`.' },
  {
    number: '00000000429',
    use: 'NIN, BVN',
    status: 429,
    effect: 'Rate limited: `rate_limited`, with `Retry-After`.',
  },
  {
    number: '00000000502',
    use: 'NIN, BVN',
    status: 502,
    effect: 'A source answered garbage: `source_bad_response`.',
  },
  {
    number: '00000000503',
    use: 'NIN, BVN',
    status: 503,
    effect: 'Every source is down: `source_unavailable`.',
  },
  {
    number: '00000000504',
    use: 'NIN, BVN',
    status: 504,
    effect: 'The sources are too slow: `source_timeout`.',
  },
  {
    number: '08000000000',
    use: 'phone',
    status: 422,
    effect: 'Never matches, whoever is asked for: `not_verified`.',
  },
]
