import type { Mode } from '../contract/scope.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, readLagosTime, toLagosDate } from '../contract/time.ts'
import type { KeyOptions } from '../keys/manage.ts'
import type { Request } from '../rehearsal/callers.ts'
import { toPhoneCoreOf } from '../simulator/people.ts'

type Kind = 'nin' | 'bvn'

type Shop = {
  /** Of its API key. */
  readonly name: string
  readonly mode: Mode
  /** Verifications on an ordinary day. */
  readonly perDay: number
  readonly kinds: readonly Kind[]
  readonly purpose: string
  readonly options: Partial<KeyOptions>
}

/** The callers of the demonstration: one API key each. */
export const SHOPS = {
  checkout: {
    name: 'Ikeja checkout',
    mode: 'live',
    perDay: 30,
    kinds: ['nin'],
    purpose: 'account-opening',
    options: { requiresConsent: true, owner: 'Web shop' },
  },
  loans: {
    name: 'Kano loans app',
    mode: 'live',
    perDay: 20,
    kinds: ['nin', 'bvn', 'bvn'],
    purpose: 'loan',
    options: { asyncWhenDown: true, owner: 'Lending' },
  },
  agents: {
    name: 'Port Harcourt agents',
    mode: 'live',
    perDay: 10,
    kinds: ['nin', 'bvn'],
    purpose: 'agent-onboarding',
    options: { hide: ['religion', 'image_url', 'residential_info'], owner: 'Agent network' },
  },
  pharmacy: {
    name: 'Enugu pharmacy',
    mode: 'live',
    perDay: 5,
    kinds: ['nin'],
    purpose: 'loyalty-card',
    options: { subjectsPerDay: 25 },
  },
  website: {
    name: 'Old website',
    mode: 'live',
    perDay: 5,
    kinds: ['nin'],
    purpose: 'account-opening',
    options: { note: 'Replaced by Ikeja checkout' },
  },
  tablets: {
    name: 'Trade fair tablets',
    mode: 'live',
    perDay: 5,
    kinds: ['nin'],
    purpose: 'account-opening',
    options: {},
  },
  tests: {
    name: 'Integration tests',
    mode: 'test',
    perDay: 4,
    kinds: ['nin', 'bvn'],
    purpose: 'test',
    options: {},
  },
} as const satisfies Readonly<Record<string, Shop>>

export type ShopName = keyof typeof SHOPS
export const SHOP_NAMES = Object.keys(SHOPS) as ShopName[]

/** Random numbers that a seed repeats. */
export type Random = {
  /** From 0 to 1. */
  readonly next: () => number
  /** A whole number below. */
  readonly below: (end: number) => number
  readonly pick: <T>(list: readonly T[]) => T
}

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number) => Math.floor(next() * end)
  return { next, below, pick: (list) => list[below(list.length)] as (typeof list)[number] }
}

/** A number that no person has: those of people do not begin with 000. The simulated vendors know a synthetic person of it. */
export const toSyntheticNumber = (place: number) => `0001${String(place).padStart(7, '0')}`

/** As the simulated vendors have it. */
const toSyntheticPhone = (number: string) => `0${toPhoneCoreOf(number)}`

/** People of one shop; some come again. */
const CUSTOMERS = 1500
const ANOTHER_PHONE = '08021112223'

/** A verification that a shop sends. */
type Visit = Request & { readonly shop: ShopName; readonly isRepeated: boolean }

type Asked = {
  readonly shop: ShopName
  readonly kind: Kind
  readonly number: string
  readonly phone?: string
}

/** Without digits: a consent reference must not look like the number of a person. */
const toWord = (random: Random) =>
  Array.from({ length: 8 }, () => String.fromCharCode(97 + random.below(26))).join('')

function toVisit(random: Random, { shop, kind, number, phone }: Asked): Visit {
  const { purpose } = SHOPS[shop]
  const word = toWord(random)
  return {
    shop,
    isRepeated: false,
    path: `/api/v2/kyc/verify-${kind}`,
    headers: {
      'idempotency-key': `demo-${word}`,
      'x-consent-reference': `demo-order-${word}`,
      'x-purpose': purpose,
    },
    body: {
      [kind]: number,
      phone: phone ?? toSyntheticPhone(number),
      ...(kind === 'bvn' && { amount: '50.00' }),
    },
  }
}

/** The next customer of a shop: mostly verified, now and then with another phone, without a record, or with a typing error. */
export function drawVisit(random: Random, shop: ShopName): Visit {
  const { kinds } = SHOPS[shop]
  const kind = random.pick(kinds)
  const number = toSyntheticNumber(SHOP_NAMES.indexOf(shop) * 10_000 + random.below(CUSTOMERS))
  const usual = toVisit(random, { shop, kind, number })
  const dice = random.next()
  if (dice < 0.84) return usual
  if (dice < 0.9) return { ...usual, body: { ...usual.body, phone: ANOTHER_PHONE } }
  if (dice < 0.92) return { ...usual, body: { ...usual.body, [kind]: number.replace(/^0001/, '9900') } }
  if (dice < 0.94) return { ...usual, body: { ...usual.body, phone: number.slice(0, 6) } }
  if (dice < 0.95) return { ...usual, body: { phone: toSyntheticPhone(number) } }
  if (dice < 0.97) return { ...usual, isRepeated: true }
  return { ...usual, headers: { ...usual.headers, prefer: 'respond-async' } }
}

/** When customers come: more at noon, none at night. A share of the day in Lagos. */
const drawTimeOfDay = (random: Random): number =>
  7 * HOUR_MS + ((random.next() + random.next()) / 2) * 14 * HOUR_MS

/** What happens at one moment of the demonstration. */
export type Act =
  | { readonly kind: 'visit'; readonly visit: Visit }
  | { readonly kind: 'lookup'; readonly shop: ShopName; readonly path: string }
  | {
      readonly kind: 'batch'
      readonly shop: ShopName
      readonly rows: readonly object[]
      readonly isCancelled: boolean
    }
  | { readonly kind: 'vendors'; readonly dojah: boolean; readonly prembly: boolean }
  /** Until the operator was told. */
  | { readonly kind: 'told'; readonly down: boolean }
  | { readonly kind: 'change-agents' | 'revoke-website' | 'add-warehouse' | 'erase' | 'backup' }

type Moment = { readonly at: number; readonly act: Act }

export type Span = { readonly from: number; readonly until: number }

/** Looked up by several shops: for the report about a person. */
export const KNOWN_PERSON = toSyntheticNumber(77)
/** In the registry until the person asks to be erased. */
export const ERASED_PERSON = toSyntheticNumber(88)

/** When the key of the trade fair ends. */
export const TABLETS_END = 0.66
const WEBSITE_END = 0.4

const toMidnight = (at: number) => readLagosTime(`${toLagosDate(at)}T00:00:00`)
const LONGEST_INCIDENT_MS = 4 * HOUR_MS

/** All that happens, in order of time. Everything follows from the seed and the two ends. */
export function planMonth(span: Span, seed: number): Moment[] {
  const random = createRandom(seed)
  const plan = createPlan(span)
  planTraffic(plan, span, random)
  planPeople(plan, random)
  planRefusals(plan, random)
  planBatches(plan, random)
  planIncident(plan, random)
  planToday(plan, span, random)
  plan.add(plan.share(0.1), { kind: 'change-agents' })
  plan.add(plan.share(WEBSITE_END), { kind: 'revoke-website' })
  plan.add(plan.share(0.92), { kind: 'add-warehouse' })
  for (const share of [0.5, 0.97]) plan.add(plan.share(share), { kind: 'backup' })
  return plan.moments.filter(({ at }) => at >= span.from && at < span.until).toSorted((a, b) => a.at - b.at)
}

type Plan = ReturnType<typeof createPlan>

function createPlan({ from, until }: Span) {
  const moments: Moment[] = []
  const share = (part: number) => from + part * (until - from)
  return {
    moments,
    share,
    add: (at: number, act: Act) => void moments.push({ at: Math.floor(at), act }),
    visit: (at: number, visit: Visit) =>
      void moments.push({ at: Math.floor(at), act: { kind: 'visit', visit } }),
    /** At this hour of the day in Lagos, if that day has room for it. */
    hour: (part: number, hour: number) => {
      const at = toMidnight(share(part)) + hour * HOUR_MS
      return at >= from && at < until - LONGEST_INCIDENT_MS ? at : share(part)
    },
  }
}

/** More on working days, and a little more from week to week. */
function planTraffic(plan: Plan, { from, until }: Span, random: Random): void {
  for (let day = toMidnight(from); day < until; day += DAY_MS) {
    const isSunday = new Date(day + HOUR_MS).getUTCDay() === 0
    const growth = 0.8 + (0.4 * (day - from)) / (until - from)
    const factor = growth * (isSunday ? 0.35 : 1) * (0.85 + 0.3 * random.next())
    for (const shop of SHOP_NAMES)
      for (let count = Math.round(SHOPS[shop].perDay * factor); count > 0; count--)
        plan.visit(day + drawTimeOfDay(random), drawVisit(random, shop))
    for (const path of LOOKUPS)
      plan.add(day + drawTimeOfDay(random), { kind: 'lookup', shop: 'checkout', path })
  }
}

const LOOKUPS = ['/api/v2/internet/data/smile/lookup', '/api/v2/sme-data/list']

function planPeople(plan: Plan, random: Random): void {
  const callers: readonly ShopName[] = [
    'website',
    'checkout',
    'loans',
    'agents',
    'checkout',
    'loans',
    'agents',
  ]
  for (const [place, shop] of callers.entries())
    plan.visit(
      plan.hour(0.05 + 0.15 * place, 12),
      toVisit(random, { shop, kind: 'nin', number: KNOWN_PERSON }),
    )
  plan.visit(
    plan.share(0.6),
    toVisit(random, { shop: 'pharmacy', kind: 'nin', number: KNOWN_PERSON, phone: '08021112223' }),
  )
  for (const part of [0.2, 0.5])
    plan.visit(plan.hour(part, 15), toVisit(random, { shop: 'checkout', kind: 'nin', number: ERASED_PERSON }))
  plan.add(plan.hour(0.7, 16), { kind: 'erase' })
}

/** People of a shop that nobody else asks about. */
const toOthers = (place: number) => toSyntheticNumber(500_000 + place)

function planRefusals(plan: Plan, random: Random): void {
  const ask = (shop: ShopName, place: number, phone?: string) =>
    toVisit(random, { shop, kind: 'nin', number: toOthers(place), ...(phone !== undefined && { phone }) })
  // A program that sends too fast.
  for (let count = 0; count < 45; count++)
    plan.visit(plan.hour(0.55, 14) + count * 200, ask('agents', 1000 + count))
  // More people than the key may ask about in a day.
  for (let count = 0; count < 30; count++)
    plan.visit(plan.hour(0.45, 11) + count * MINUTE_MS, ask('pharmacy', 2000 + count))
  // Somebody tries phones of one person.
  for (let count = 0; count < 12; count++)
    plan.visit(plan.hour(0.35, 20) + count * 5000, ask('checkout', 3000, `0802111${String(1000 + count)}`))
  // A program still has a key that was revoked.
  for (let count = 0; count < 4; count++)
    plan.visit(plan.share(WEBSITE_END + 0.01 * (count + 1)), ask('website', 5000 + count))
}

function planBatches(plan: Plan, random: Random): void {
  const draw = (place: number) => {
    const { body } = drawVisit(random, 'loans')
    const isNin = 'nin' in (body ?? {})
    return { operation: isNin ? 'verify_nin' : 'verify_bvn', reference: `row ${place}`, ...body }
  }
  const rows = (count: number) => Array.from({ length: count }, (_, place) => draw(place + 1))
  for (const part of [0.3, 0.6, 0.95])
    plan.add(plan.hour(part, 9), { kind: 'batch', shop: 'loans', rows: rows(40), isCancelled: false })
  plan.add(plan.hour(0.62, 9), { kind: 'batch', shop: 'agents', rows: rows(60), isCancelled: true })
}

/** Dojah fails for three hours; for 75 minutes of them, Prembly fails too. */
function planIncident(plan: Plan, random: Random): void {
  const begin = plan.hour(0.8, 10)
  const both = begin + HOUR_MS
  const onlyOne = both + 75 * MINUTE_MS
  const end = begin + 3 * HOUR_MS
  plan.add(begin, { kind: 'vendors', dojah: false, prembly: true })
  for (let count = 0; count < 12; count++)
    plan.visit(begin + (count + 1) * 4000, drawVisit(random, 'checkout'))
  plan.add(begin + MINUTE_MS, { kind: 'told', down: true })
  plan.add(both, { kind: 'vendors', dojah: false, prembly: false })
  for (let count = 0; count < 30; count++)
    plan.visit(both + count * 2 * MINUTE_MS, drawVisit(random, random.pick(['checkout', 'loans', 'loans'])))
  plan.add(onlyOne, { kind: 'vendors', dojah: false, prembly: true })
  plan.add(end, { kind: 'vendors', dojah: true, prembly: true })
  // Enough of each kind that the breakers close.
  for (let count = 0; count < 24; count++)
    plan.visit(end + (count + 1) * 20_000, drawVisit(random, random.pick(['checkout', 'loans', 'loans'])))
  plan.add(end + 9 * MINUTE_MS, { kind: 'told', down: false })
}

/** The pharmacy is close to its quota today. */
function planToday(plan: Plan, { from, until }: Span, random: Random): void {
  const begin = Math.max(from, toMidnight(until), until - 2 * HOUR_MS)
  // Its other customers of today count as well.
  for (const moment of plan.moments.filter(({ at }) => at >= toMidnight(until)))
    if (moment.act.kind === 'visit' && moment.act.visit.shop === 'pharmacy')
      plan.moments.splice(plan.moments.indexOf(moment), 1)
  for (let count = 0; count < NEAR_QUOTA; count++)
    plan.visit(
      begin + ((until - begin) * count) / NEAR_QUOTA,
      toVisit(random, { shop: 'pharmacy', kind: 'nin', number: toOthers(4000 + count) }),
    )
}

const NEAR_QUOTA = SHOPS.pharmacy.options.subjectsPerDay - 2
