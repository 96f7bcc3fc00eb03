import { type NetworkAnswer, type NetworkReply, type NetworkRequest, network } from './network.ts'
import { isKnownToVendors, phoneOf, surnameOf } from './people.ts'
import { createRandom, type Random } from './random.ts'
import { world } from './world.ts'

export const VENDORS = ['dojah', 'blusalt'] as const
export type VendorName = (typeof VENDORS)[number]

/** In naira. */
export const PRICES: Readonly<Record<VendorName, number>> = { dojah: 50, blusalt: 70 }

const ORIGINS: Readonly<Record<VendorName, string>> = {
  dojah: 'https://dojah.vendor.test',
  blusalt: 'https://blusalt.vendor.test',
}

export const VENDOR_SETTINGS: Readonly<Record<string, string>> = {
  TABBAT_DOJAH_URL: ORIGINS.dojah,
  TABBAT_DOJAH_APP_ID: 'simulated-app',
  TABBAT_DOJAH_SECRET: 'simulated-secret',
  TABBAT_DOJAH_PRICE: String(PRICES.dojah),
  TABBAT_BLUSALT_URL: `${ORIGINS.blusalt}/v2`,
  TABBAT_BLUSALT_CLIENT_ID: 'simulated-client',
  TABBAT_BLUSALT_APP_NAME: 'simulated-app',
  TABBAT_BLUSALT_API_KEY: 'simulated-key',
  TABBAT_BLUSALT_PRICE: String(PRICES.blusalt),
}

/** What a vendor does with a request that it received. */
const CONDUCTS = [
  'answers',
  'answers_late',
  'answers_very_late',
  'closes',
  'breaks_off',
  'hangs',
  'no_funds',
  'unauthorised',
  'throttles',
  'fails',
  'fails_in_200',
  'not_json',
  'other_person',
  'half_a_record',
] as const

/** What vendors do in some of the runs. Those that could be taken for "no such person" or "another phone" are more frequent. */
const RARE_CONDUCTS = [
  'unreadable_phone',
  'unreadable_phone',
  'unreadable_phone',
  'refuses_otherwise',
  'refuses_otherwise',
  'refuses_otherwise',
  'respelt_phone',
  'unknown_account',
  'contradicts',
  'redirects',
  'too_large',
  'stalls',
  'drips',
] as const
type VendorConduct = (typeof CONDUCTS)[number] | (typeof RARE_CONDUCTS)[number]

/** The mood of a vendor: what it does with the requests of a time. */
type Mood = { readonly conducts: readonly VendorConduct[]; readonly isReachable: boolean }

const HEALTHY: Mood = { conducts: ['answers'], isReachable: true }
const UNREACHABLE: Mood = { conducts: ['answers'], isReachable: false }

/** A request as it stands in the vendor's own ledger. */
export type VendorCall = {
  readonly at: number
  readonly vendor: VendorName
  readonly number: string
  readonly billed: boolean
  readonly conduct: VendorConduct
  /** What it says about the person, if it says something that can be used. */
  readonly says: 'record' | 'no such person' | 'other phone' | undefined
}

const UNBILLED: ReadonlySet<VendorConduct> = new Set([
  'no_funds',
  'unauthorised',
  'throttles',
  'unknown_account',
])

/** Two vendors with moods that change, and a ledger of every request that they received. */
export type Vendors = {
  readonly ledger: readonly VendorCall[]
  readonly change: () => void
  readonly calm: () => void
}

export function openVendors(): Vendors {
  const ledger: VendorCall[] = []
  const moods = new Map<VendorName, Mood>(VENDORS.map((vendor) => [vendor, HEALTHY]))
  const { random, seed } = world()
  const rare = openRare(seed)
  for (const vendor of VENDORS)
    network.listen(ORIGINS[vendor], (request) => {
      const { conducts } = moods.get(vendor) ?? HEALTHY
      const conduct = random.pick(conducts)
      const { number, phone } = vendor === 'dojah' ? readDojah(request) : readBlusalt(request)
      const answer = vendor === 'dojah' ? toDojahAnswer(number) : toBlusaltAnswer(number, phone)
      const { says, reply } = act(vendor, conduct, number, answer)
      ledger.push({ at: world().elapsedMs, vendor, number, billed: !UNBILLED.has(conduct), conduct, says })
      world().note(`${vendor} ${conduct} ${number}`)
      return reply
    })
  network.unreachable = (origin) => {
    const vendor = VENDORS.find((name) => ORIGINS[name] === origin)
    if (!vendor || moods.get(vendor)?.isReachable !== false) return undefined
    return { code: random.chance(0.5) ? 'ECONNREFUSED' : 'ENOTFOUND', afterMs: random.between(0.1, 5) }
  }
  return {
    ledger,
    change: () => {
      const vendor = random.pick(VENDORS)
      const mood = drawMood(rare)
      moods.set(vendor, mood)
      world().note(`${vendor} is now ${mood.isReachable ? mood.conducts.join('/') : 'unreachable'}`)
    },
    calm: () => {
      for (const vendor of VENDORS) moods.set(vendor, HEALTHY)
    },
  }
}

/** From a sequence of its own: the other decisions of a seed stay as they are. */
function openRare(seed: number): (usual: VendorConduct) => VendorConduct {
  const random: Random = createRandom(seed, 'other acts')
  const isUsed = random.chance(0.3)
  return (usual) => (isUsed && random.chance(0.7) ? random.pick(RARE_CONDUCTS) : usual)
}

function drawMood(rare: (usual: VendorConduct) => VendorConduct): Mood {
  const { random } = world()
  if (random.chance(0.3)) return HEALTHY
  if (random.chance(0.2)) return UNREACHABLE
  const count = 1 + random.below(4)
  const conducts = Array.from({ length: count }, () => rare(random.pick(CONDUCTS)))
  // Flapping: some of the requests succeed.
  return { isReachable: true, conducts: random.chance(0.5) ? [...conducts, 'answers'] : conducts }
}

type Answer = { readonly status: number; readonly body: object; readonly says: VendorCall['says'] }

const readDojah = ({ url }: NetworkRequest) => ({ number: url.searchParams.get('nin') ?? '', phone: '' })

function readBlusalt({ body }: NetworkRequest) {
  const { nin_number: number = '', phone_number: phone = '' } = JSON.parse(body || '{}') as Record<
    string,
    string
  >
  return { number, phone }
}

const toPerson = (number: string) => ({
  first_name: 'AMAKA',
  middle_name: '',
  last_name: surnameOf(number),
  date_of_birth: '1990-01-05',
  gender: 'Female',
  phone_number: phoneOf(number),
})

/** Dojah does not compare phones. */
function toDojahAnswer(number: string): Answer {
  if (!isKnownToVendors(number))
    return { status: 400, body: { error: 'Wrong NIN Inputted' }, says: 'no such person' }
  return { status: 200, body: { entity: { nin: number, ...toPerson(number) } }, says: 'record' }
}

/** Blusalt compares the phone itself. */
function toBlusaltAnswer(number: string, phone: string): Answer {
  const error = (code: number, message: string, says: Answer['says']): Answer => ({
    status: code,
    body: { status_code: code, status: 'Error', message, results: null },
    says,
  })
  if (!isKnownToVendors(number)) return error(404, 'Record not found', 'no such person')
  if (phone !== phoneOf(number)) return error(422, 'Phone number does not match', 'other phone')
  const results = { nin_number: number, verification_status: 'VERIFIED', personal_info: toPerson(number) }
  return {
    status: 200,
    body: { status_code: 200, status: 'Success', message: 'Successful', results },
    says: 'record',
  }
}

function act(
  vendor: VendorName,
  conduct: VendorConduct,
  number: string,
  answer: Answer,
): { readonly says: VendorCall['says']; readonly reply: NetworkReply } {
  const { random } = world()
  const refuse = (status: number, text: string, headers?: Record<string, string>): NetworkAnswer => ({
    kind: 'answer',
    afterMs: random.between(1, 80),
    status,
    body: JSON.stringify({ error: text, message: text, status_code: status }),
    ...(headers && { headers }),
  })
  const say = (afterMs: number, body: object = answer.body, status = answer.status): NetworkAnswer => ({
    kind: 'answer',
    afterMs,
    status,
    body: JSON.stringify(body),
  })
  const silent = (reply: NetworkReply) => ({ says: undefined, reply })
  switch (conduct) {
    case 'answers':
      return { says: answer.says, reply: say(random.between(1, 300)) }
    case 'answers_late':
      return { says: answer.says, reply: say(random.between(1500, 6000)) }
    case 'answers_very_late':
      return { says: answer.says, reply: say(random.between(7000, 15_000)) }
    case 'closes':
      return silent({ kind: 'reset', afterMs: random.between(1, 200) })
    case 'breaks_off': {
      const text = JSON.stringify(answer.body)
      return silent({
        kind: 'reset',
        afterMs: random.between(1, 200),
        partOf: text.slice(0, random.below(text.length)),
      })
    }
    case 'hangs':
      return silent({ kind: 'silence' })
    case 'no_funds':
      return silent(refuse(402, 'Insufficient wallet balance'))
    case 'unauthorised':
      return silent(refuse(401, 'Invalid credentials'))
    case 'throttles':
      return silent(refuse(429, 'Too many requests', { 'retry-after': String(1 + random.below(4)) }))
    case 'fails':
      return silent(refuse(random.pick([500, 502, 503]), 'Internal error'))
    case 'fails_in_200':
      return silent(
        say(
          5,
          vendor === 'dojah'
            ? { error: 'Unable to reach service' }
            : { status_code: 500, status: 'Error', message: 'Service provider not available', results: null },
          200,
        ),
      )
    case 'not_json':
      return silent({ kind: 'answer', afterMs: 5, status: 200, body: '<html>Bad gateway</html>' })
    case 'other_person':
      return silent(say(random.between(1, 50), toOtherPerson(vendor, number), 200))
    case 'half_a_record':
      return silent(
        say(
          random.between(1, 50),
          vendor === 'dojah' ? { entity: {} } : { status_code: 200, status: 'Success', results: {} },
          200,
        ),
      )
    case 'unreadable_phone':
      if (answer.says !== 'record') return { says: answer.says, reply: say(5) }
      return silent(
        say(random.between(1, 50), respell(answer.body, random.pick(UNREADABLE)(phoneOf(number)))),
      )
    case 'respelt_phone':
      if (answer.says !== 'record') return { says: answer.says, reply: say(5) }
      return {
        says: 'record',
        reply: say(random.between(1, 50), respell(answer.body, random.pick(RESPELT)(phoneOf(number)))),
      }
    case 'unknown_account':
      return silent(refuse(404, random.pick(ABOUT_ACCOUNT)))
    case 'refuses_otherwise':
      return silent(refuse(random.pick([400, 404, 422]), random.pick(ABOUT_OTHER_THINGS)))
    case 'contradicts':
      return silent(
        vendor === 'dojah'
          ? say(5, { error: 'Unable to reach service', ...toDojahAnswer(number).body }, 400)
          : say(5, { ...answer.body, status_code: 500, status: 'Error', message: 'Service failed' }, 200),
      )
    case 'redirects':
      return silent({ ...refuse(302, 'Found', { location: 'https://elsewhere.test/' }), body: '' })
    case 'too_large':
      return silent({
        kind: 'answer',
        afterMs: 5,
        status: 200,
        body: JSON.stringify({ ...answer.body, padding: 'x'.repeat(LARGE_BYTES) }),
      })
    case 'stalls':
      return silent({ kind: 'silence', partOf: JSON.stringify(answer.body).slice(0, 20) })
    case 'drips': {
      const lastsMs = random.between(500, 15_000)
      return { says: answer.says, reply: { ...say(random.between(1, 50)), lastsMs } }
    }
  }
}

/** More than the product reads. */
const LARGE_BYTES = 3 * 1024 * 1024

/** Phones that cannot be compared; undefined leaves the field out. */
const UNREADABLE: readonly ((phone: string) => string | null | undefined)[] = [
  () => null,
  () => undefined,
  () => '',
  (phone) => `${phone.slice(0, 3)}****${phone.slice(7)}`,
  () => '***********',
  () => 'N/A',
]

const RESPELT: readonly ((phone: string) => string)[] = [
  (phone) => `+234${phone}`,
  (phone) => `234${phone.slice(1)}`,
  (phone) => `08021112223,${phone}`,
]

/** Answers about the operator's account at the vendor, which bills none of them. */
const ABOUT_ACCOUNT = [
  'App not found',
  'Merchant not found',
  'User not found',
  'Account not found',
  'API key not found',
] as const

/** None of them says that there is no such person, or that the phone is another one. */
const ABOUT_OTHER_THINGS = [
  'Endpoint not found',
  'Cannot POST /v2/verify',
  'Resource not found',
  'Wallet record not found',
  'NIN service not found',
  'NIN not found: NIMC did not answer',
  'Phone number does not match the required format',
  'The number could not be verified at this time',
  'Validation failed',
  '',
] as const

/** The same answer with the phone in another spelling. */
const respell = (body: object, phone: string | null | undefined): object =>
  JSON.parse(JSON.stringify(body, (key, value: unknown) => (key === 'phone_number' ? phone : value)))

/** The record of somebody else: the answer of another request, for example. */
function toOtherPerson(vendor: VendorName, number: string): object {
  const other = `4${String((Number(number.slice(1)) + 1) % 10_000_000_000).padStart(10, '0')}`
  return vendor === 'dojah' ? toDojahAnswer(other).body : toBlusaltAnswer(other, phoneOf(other)).body
}
