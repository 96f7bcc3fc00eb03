/** A number with a fixed outcome for test keys. */
type SandboxNumber = {
  readonly number: string
  readonly use: 'NIN, BVN' | 'NIN' | 'BVN' | 'phone'
  readonly status: number
  /** Words in backquotes are code. */
  readonly effect: string
}

export const SANDBOX_NUMBERS: readonly SandboxNumber[] = [
  {
    number: '00000000001',
    use: 'NIN, BVN',
    status: 200,
    effect: 'A sparse record: only the number and the phone are filled.',
  },
  {
    number: '00000000002',
    use: 'BVN',
    status: 200,
    effect: 'A BVN on the watch list: `watchlisted` is `YES`.',
  },
  {
    number: '00000000003',
    use: 'NIN, BVN',
    status: 200,
    effect: 'Long and accented names, and a long address.',
  },
  {
    number: '00000000202',
    use: 'NIN, BVN',
    status: 202,
    effect: 'Pending: `pending`. Verified after 5 seconds.',
  },
  {
    number: '00000000204',
    use: 'NIN, BVN',
    status: 202,
    effect: 'Pending: `pending`. Not verified after 5 seconds.',
  },
  {
    number: 'AB012345678910YZ',
    use: 'NIN',
    status: 200,
    effect: 'A virtual NIN, as every other well-formed one. `nin_number` is the virtual NIN.',
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
    effect: 'The response of a source is unreadable: `source_bad_response`.',
  },
  {
    number: '00000000503',
    use: 'NIN, BVN',
    status: 503,
    effect: 'All sources are unavailable: `source_unavailable`.',
  },
  {
    number: '00000000504',
    use: 'NIN, BVN',
    status: 504,
    effect:
      'The sources do not answer in time: `source_timeout`. With `X-Sandbox-Delay: real` as late as a real time-out.',
  },
  {
    number: '08000000000',
    use: 'phone',
    status: 422,
    effect: 'Matches no record: `not_verified`.',
  },
]
