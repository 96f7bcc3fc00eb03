import type { CatalogueFiles, InternetFile, TvFile } from '../../contract/bundles.ts'
import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { toLocalPhone } from '../../contract/person.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { HOUR_MS, MINUTE_MS, readLagosTime } from '../../contract/time.ts'
import { ERRORS } from '../../errors.ts'
import type { ValuesOf } from '../../settings/setting.ts'
import { toPrice, withoutDuplicates } from '../price-list.ts'
import { completeBvn, completeNin, type Given, toFields, toNumber, toText } from '../record.ts'
import {
  createPhraseMatcher,
  createReader,
  isTemporary,
  NO_SUCH_PERSON,
  objectWith,
  optionalFields,
  PHONE_DIFFERS,
  saysFailure,
  statusError,
  toErrorText,
} from '../reply.ts'
import {
  type Call,
  type CreateSource,
  type HttpReply,
  type HttpRequest,
  type Send,
  SourceError,
  type VendorDeps,
} from '../source.ts'
import { readTokenText, requireTokenReply, type Token, type TokenOptions, withToken } from '../token.ts'
import type { settings } from './settings.ts'

const NAME = 'relay'

/** Another server of this same API. It compares the phone itself, and we compare it again. */
export const create: CreateSource<typeof settings> = (values, deps) => {
  const send = withCredentials(values, deps)
  const isVerified = createVerifiedCheck(NAME, values.notFound)
  const readNin = createReader(NAME, NinReply)
  const readBvn = createReader(NAME, BvnReply)
  return {
    name: NAME,
    isExternal: true,
    findNin: async ({ nin, phone }, call) => {
      const body = { nin, phone: toLocalPhone(phone) }
      const reply = await send({ method: 'POST', path: '/kyc/verify-nin', body }, call)
      const reference = referenceIn(reply.body)
      if (!isVerified(reply)) return { found: false, reference }
      return { found: true, record: toNinRecord(readNin(reply.body)), reference }
    },
    findBvn: async ({ bvn, phone }, call) => {
      const body = { bvn, phone: toLocalPhone(phone), amount: values.amount }
      const reply = await send({ method: 'POST', path: '/kyc/verify-bvn', body }, call)
      const reference = referenceIn(reply.body)
      if (!isVerified(reply)) return { found: false, reference }
      return { found: true, record: toBvnRecord(readBvn(reply.body)), reference }
    },
    fetchCatalogue: (current, call) => fetchRelayCatalogue(send, current, call),
  }
}

/** Sends requests with the configured key, or with a token that is fetched for two keys. `check` requires one or the other. */
function withCredentials(
  { key, publicKey = '', secretKey = '', tokenPath }: ValuesOf<typeof settings>,
  { send, now }: VendorDeps,
): Send {
  if (key !== undefined) {
    const authorization = `Bearer ${key}`
    return (request, call) => send({ ...request, headers: { ...request.headers, authorization } }, call)
  }
  const fetchToken = createFetchToken(NAME, send, { publicKey, secretKey, tokenPath })
  return withToken(send, { source: NAME, fetchToken, now })
}

/** Whether the reply is verified. Throws when it is neither verified nor "not verified". */
type VerifiedCheck = (reply: HttpReply) => boolean

/** Texts of servers of this API other than Tabbat. Tabbat has a code. */
const NOT_VERIFIED_TEXTS = [
  ...NO_SUCH_PERSON,
  ...PHONE_DIFFERS,
  ...['nin', 'bvn', 'the number', 'the number {number}'].map((what) => `${what} could not be verified`),
]

export function createVerifiedCheck(source: string, notFound?: readonly string[]): VerifiedCheck {
  const saysNotVerified = createPhraseMatcher(NOT_VERIFIED_TEXTS, notFound)

  /** Tabbat has a code. Other servers have a verification status, or only a text. */
  const isNotVerified = (body: unknown): boolean => {
    const code = fieldOf(body, 'code')
    if (typeof code === 'string' && Object.hasOwn(ERRORS, code)) return code === 'not_verified'
    const message = toText(fieldOf(body, 'message'))
    return saysNotVerified(message) || (NOT_VERIFIED.test(statusIn(body)) && !isTemporary(message))
  }

  return ({ status, body }) => {
    if ((status === 404 || status === 422) && isNotVerified(body)) return false
    if (status !== 200) throw relayError(source, status, body)
    const verdict = fieldOf(body, 'success') === true ? statusIn(body) : ''
    if (verdict === 'VERIFIED') return true
    if (NOT_VERIFIED.test(verdict)) return false
    throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
  }
}

/** With these two codes, the Retry-After of a Tabbat server is not about the server, so there is no cooldown. */
function relayError(source: string, status: number, body: unknown): SourceError {
  const code = fieldOf(body, 'code')
  if (status === 429 && code === 'too_many_attempts')
    return new SourceError(source, 'throttled', { problem: 'too_many', fault: 'request' })
  if (status === 503 && code === 'source_unavailable')
    return new SourceError(source, 'unreachable', { problem: 'vendor_down', retryAfterMs: 0 })
  return statusError(source, status, toErrorText(body))
}

/** The reference of that server, which it also returns with "not verified". */
const referenceIn = (body: unknown): unknown => fieldOf(fieldOf(body, 'data'), 'request_reference')

const NOT_VERIFIED = /^(NOT|UN)[ _-]?(VERIFIED|FOUND)$/

const statusIn = (body: unknown): string =>
  toText(fieldOf(fieldOf(body, 'data'), 'verification_status')).toUpperCase()

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

type Keys = { readonly publicKey: string; readonly secretKey: string; readonly tokenPath: string }

/** Renewed early, in case the clock or time zone of that server differs. */
const EARLY_MS = 2 * HOUR_MS
const MIN_MS = MINUTE_MS

/** Fetches a token for a public and a secret key. */
const createFetchToken =
  (source: string, send: Send, { publicKey, secretKey, tokenPath }: Keys): TokenOptions['fetchToken'] =>
  async (call, requestedAt) => {
    const basic = Buffer.from(`${publicKey}:${secretKey}`).toString('base64')
    const headers = { authorization: `Basic ${basic}` }
    const reply = await send({ method: 'POST', path: tokenPath, headers }, call)
    return readToken(source, requireTokenReply(source, reply), requestedAt)
  }

/** Servers of this API return the token in different places. */
export function readToken(source: string, body: unknown, requestedAt: Date): Token {
  const top = toFields(body)
  // A wrong key may be answered with 200.
  if (saysFailure(body)) throw new SourceError(source, 'refused', { problem: 'credentials' })
  const data = toFields(top.data)
  const token = toFields(data.token)
  const text = token.access_token ?? token.token ?? data.access_token ?? top.token
  const expiresAt = readTime(token.expires_at ?? data.expires_at ?? top.expires_at)
  // A token that seems to have expired is still used for a minute: its time may be misread, and a 401 would show it.
  const lifetimeMs =
    expiresAt === undefined ? undefined : Math.max(expiresAt - EARLY_MS - requestedAt.getTime(), MIN_MS)
  return { text: readTokenText(source, text), lifetimeMs }
}

/** A time without a zone is Lagos time. */
function readTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$/.exec(value.trim()) ?? []
  const read = day === undefined ? Date.parse(value) : readLagosTime(`${day}T${time}`)
  return Number.isNaN(read) ? undefined : read
}

/** The shape is that of the contract. The picture is dropped: its URL belongs to the other server. */
export const toNinRecord = ({ data }: Static<typeof NinReply>): NinRecord =>
  completeNin({ ...data, nin_number: toNumber(data.nin_number) } as Given<NinRecord>)

export const toBvnRecord = ({ data }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({
    ...data,
    bvn_number: toNumber(data.bvn_number),
    nin: toNumber(data.nin),
  } as Given<BvnRecord>)

/** {"success": true, "data": {…}}: the result of the contract. The fields are checked where they are read. */
const NinReply = objectWith({
  data: optionalFields(
    'nin_number',
    'document_no',
    'personal_info',
    'next_of_kin',
    'residential_info',
    'indigene_info',
    'education_profession',
  ),
})

const BvnReply = objectWith({
  data: optionalFields(
    'bvn_number',
    'name_on_card',
    'enrolment_branch',
    'enrolment_bank',
    'formatted_registration_date',
    'level_of_account',
    'nin',
    'watchlisted',
    'personal_info',
    'residential_info',
  ),
})

const NOTE = 'From another server of this API.'

const BundlesReply = objectWith({
  success: Type.Literal(true),
  data: objectWith({
    data: Type.Array(
      objectWith({
        type: Type.String(),
        code: Type.String(),
        price: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
        description: Type.String(),
        duration: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
      }),
    ),
  }),
})

const AddOnsReply = objectWith({
  success: Type.Literal(true),
  data: Type.Array(
    objectWith({
      add_on_product_code: Type.String(),
      name: Type.String(),
      price: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
    }),
  ),
})

/**
 * The lists of another server of this API. Each of our lists is looked up there. A list that the server does not have stays
 * unchanged; so do products and their prices, because the API has no look-up for them.
 */
export async function fetchRelayCatalogue(
  send: Send,
  current: CatalogueFiles,
  call: Call,
): Promise<CatalogueFiles> {
  const known = new Set<InternetFile | TvFile>([...current.internet, ...current.tv])
  const internet: InternetFile[] = []
  for (const list of current.internet) internet.push(await fetchInternet(send, list, call))
  const tv: TvFile[] = []
  for (const list of current.tv) tv.push(await fetchTv(send, list, call))
  const isUnchanged = [...internet, ...tv].every((list) => known.has(list))
  // A server that has none of the lists is a wrong address.
  if (isUnchanged) throw new SourceError(NAME, 'bad_response', { problem: 'rejected' })
  return { internet, tv }
}

const readBundles = createReader(NAME, BundlesReply)
const readAddOns = createReader(NAME, AddOnsReply)

/** Undefined after a 404. */
async function lookUp<T>(
  send: Send,
  request: HttpRequest,
  call: Call,
  read: (body: unknown) => T,
): Promise<T | undefined> {
  const { status, body } = await send(request, call)
  if (status === 404) return undefined
  if (status !== 200) throw statusError(NAME, status)
  return read(body)
}

async function fetchInternet(send: Send, list: InternetFile, call: Call): Promise<InternetFile> {
  const path = `/internet/data/${list.segment}/lookup`
  const reply = await lookUp(send, { method: 'GET', path }, call, readBundles)
  if (!reply) return list
  const bundles = reply.data.data.flatMap(({ code, price, description, duration }) => {
    const plain = toPrice(NAME, price)
    return plain === undefined ? [] : [{ code, price: plain, description, duration: duration ?? '' }]
  })
  return { ...list, note: NOTE, bundles: withoutDuplicates(NAME, bundles) }
}

async function fetchTv(send: Send, list: TvFile, call: Call): Promise<TvFile> {
  const known: { readonly product: string; readonly addOns: TvFile['add_ons'] }[] = []
  for (const { code } of list.products) {
    const reply = await lookUp(send, toAddOnsRequest(list.type, code), call, readAddOns)
    if (reply) known.push({ product: code, addOns: toAddOns(reply) })
  }
  if (known.length === 0) return list
  const isKnown = (code: string) => known.some(({ product }) => product === code)
  const sold = withoutDuplicates(
    NAME,
    known.flatMap(({ addOns }) => addOns),
  )
  const add_ons = sold.map((addOn) => ({
    ...addOn,
    products: known
      .filter(({ addOns }) => addOns.some(({ code }) => code === addOn.code))
      .map(({ product }) => product),
  }))
  return { ...list, note: NOTE, products: list.products.filter(({ code }) => isKnown(code)), add_ons }
}

/** The API takes a body with GET. Proxies may drop it, so the query has the same inputs. */
function toAddOnsRequest(type: string, productCode: string): HttpRequest {
  const inputs = { type, productCode }
  return { method: 'GET', path: '/cable-tv/fetch-tv-add-ons', query: inputs, body: inputs }
}

const toAddOns = ({ data }: Static<typeof AddOnsReply>): TvFile['add_ons'] =>
  data.flatMap(({ add_on_product_code: code, name, price }) => {
    const plain = toPrice(NAME, price)
    return plain === undefined ? [] : [{ code, name, price: plain, products: [] }]
  })
