export type VendorName = 'dojah' | 'blusalt'

/** A request that a vendor received, as it stands in the vendor's ledger. */
export type VendorCall = {
  readonly at: number
  readonly vendor: VendorName
  readonly number: string
  readonly billed: boolean
  readonly conduct: string
}

/** When processes are killed: at the n-th request or answer, of one vendor or of both. Without processes, only the parent is told. */
export type Arming = {
  readonly moment: 'received' | 'answered'
  readonly vendor?: VendorName | undefined
  readonly after: number
  readonly pids: readonly number[]
}

export type Conduct = { readonly isBilled: boolean } & (
  | { readonly name: 'answers' | 'closes' | 'hangs' }
  | { readonly name: 'answers_late'; readonly ms: number }
  | { readonly name: 'refuses'; readonly status: number; readonly text: string }
)

/** The first digits of a number say what the vendors do with it. Those of `unknown` have no record at any simulated vendor. */
const SORTS = {
  found: '40',
  no_funds: '41',
  unauthorised: '42',
  throttled: '43',
  failing: '44',
  closed: '45',
  slow: '46',
  hanging: '47',
  both_fail: '48',
  refused_once: '49',
  unknown: '99',
} as const
export type Sort = keyof typeof SORTS

const DIGITS = 9

export const toNumber = (sort: Sort, id: number) => `${SORTS[sort]}${String(id).padStart(DIGITS, '0')}`

const SORT_BY_DIGITS = new Map(
  Object.entries(SORTS).map(([sort, digits]) => [digits as string, sort as Sort]),
)

/** Longer than the time after which a slow call is hedged. */
const LATE_MS = 2500

const ANSWERS: Conduct = { name: 'answers', isBilled: true }
const NO_FUNDS: Conduct = { name: 'refuses', status: 402, text: 'Insufficient balance', isBilled: false }
const THROTTLED: Conduct = { name: 'refuses', status: 429, text: 'Too many requests', isBilled: false }
const FAILS: Conduct = { name: 'refuses', status: 500, text: 'Internal error', isBilled: true }
const CLOSES: Conduct = { name: 'closes', isBilled: true }

const OF_FIRST: Readonly<Partial<Record<Sort, Conduct>>> = {
  no_funds: NO_FUNDS,
  unauthorised: { name: 'refuses', status: 401, text: 'Unauthorized', isBilled: false },
  throttled: THROTTLED,
  failing: FAILS,
  closed: CLOSES,
  slow: { name: 'answers_late', ms: LATE_MS, isBilled: true },
  hanging: { name: 'hangs', isBilled: true },
  both_fail: CLOSES,
}

/** What a vendor does at the `count`-th request about a number. It bills whatever it did not refuse, as vendors do. */
export function toConduct(vendor: VendorName, number: string, count: number): Conduct {
  const sort = SORT_BY_DIGITS.get(number.slice(0, 2)) ?? 'found'
  if (sort === 'refused_once' && count === 1) return vendor === 'dojah' ? NO_FUNDS : THROTTLED
  if (vendor === 'blusalt') return sort === 'both_fail' ? FAILS : ANSWERS
  return OF_FIRST[sort] ?? ANSWERS
}
