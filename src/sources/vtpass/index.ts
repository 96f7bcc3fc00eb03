import type { CatalogueFiles, InternetFile, TvFile } from '../../contract/bundles.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { findInternet, findTv, toDuration, toPrice, withoutDuplicates, withProducts } from '../price-list.ts'
import { toFields, toText } from '../record.ts'
import {
  anyValue,
  createPhraseMatcher,
  createReader,
  objectWith,
  optionalFields,
  statusError,
} from '../reply.ts'
import { type Call, type CreateSource, SourceError, type SourceFailure } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'
import type { settings } from './settings.ts'

const DONE = '000'
const NO_PRODUCT = '012'
/** Of any wrong argument: its text says which. */
const WRONG_ARGUMENT = '011'
const saysUnknownService = createPhraseMatcher(['service is not valid'])

/** The vendor's error codes. Any other code means that it rejected the request. */
const MEANINGS: Readonly<Record<string, readonly [SourceFailure, SourceProblem]>> = {
  '021': ['refused', 'credentials'],
  '022': ['refused', 'credentials'],
  '023': ['refused', 'credentials'],
  '024': ['refused', 'credentials'],
  '027': ['refused', 'credentials'],
  '028': ['refused', 'credentials'],
  '087': ['refused', 'credentials'],
  '030': ['unreachable', 'vendor_failed'],
  '083': ['unreachable', 'vendor_failed'],
}

/** VTpass sells Smile, Spectranet, StarTimes and Showmax, and lists the prices of DStv's add-ons. */
export const create: CreateSource<typeof settings> = ({ apiKey, publicKey }, { send }) => {
  const headers = { 'api-key': apiKey, 'public-key': publicKey }
  const readEnvelope = createReader(NAME, Envelope)
  const readContent = createReader(NAME, Content)

  /** Undefined when the vendor does not sell this. */
  const fetchVariations = async (serviceID: string, call: Call): Promise<Variation[] | undefined> => {
    const request = { method: 'GET', path: '/service-variations', query: { serviceID }, headers } as const
    const { status, body } = await send(request, call)
    if (status !== 200) throw statusError(NAME, status)
    const envelope = readEnvelope(body)
    const { response_description, content } = envelope
    if (saysNotSold(envelope)) return undefined
    if (response_description !== DONE) {
      const [reason, problem] = MEANINGS[toCode(envelope)] ?? ['bad_response', 'rejected']
      throw new SourceError(NAME, reason, { problem })
    }
    const read = readContent(content)
    if (!read.variations && !read.varations)
      throw new SourceError(NAME, 'bad_response', { problem: 'unknown_shape' })
    return toVariations(read)
  }

  const fetchCatalogue = async (current: CatalogueFiles, call: Call): Promise<CatalogueFiles> => {
    const smile = await fetchVariations('smile-direct', call)
    const spectranet = await fetchVariations('spectranet', call)
    const startimes = await fetchVariations('startimes', call)
    const showmax = await fetchVariations('showmax', call)
    const dstv = await fetchVariations('dstv', call)
    return {
      internet: [
        ...(smile ? [toInternet(current, 'smile', smile)] : []),
        ...(spectranet ? [toInternet(current, 'spectranet', spectranet)] : []),
      ],
      tv: [
        ...(startimes ? [toTv(current, 'STARTIMES', startimes)] : []),
        ...(showmax ? [toTv(current, 'SHOWMAX', showmax)] : []),
        ...(dstv ? toDstv(current, dstv) : []),
      ],
    }
  }
  return { name: NAME, isExternal: true, fetchCatalogue, saysNotSold }
}

/** 012 is the documented code. Live accounts get 011, as for an argument that is missing, with a text of its own. */
function saysNotSold(body: unknown): boolean {
  const { response_description, code, content } = toFields(body)
  if (response_description === DONE) return false
  const number = toCode({ response_description, code })
  if (number === NO_PRODUCT) return true
  return number === WRONG_ARGUMENT && saysUnknownService(toText(toFields(content).errors))
}

const toCode = ({ code, response_description }: Static<typeof Envelope>) =>
  String(code ?? response_description)

const NAME = 'vtpass'
const NOTE = 'From VTpass.'

type Variation = { readonly code: string; readonly name: string; readonly price: string }

/** Airtime of any amount is listed with the price 0. It is not a bundle, so it is skipped. */
export function toVariations({ variations = [], varations = [] }: Static<typeof Content>): Variation[] {
  const given = variations.length > 0 ? variations : varations
  const sold = given.flatMap(({ variation_code, name, variation_amount }) => {
    const price = toPrice(NAME, variation_amount)
    return price === undefined ? [] : [{ code: String(variation_code ?? ''), name, price }]
  })
  return withoutDuplicates(NAME, sold)
}

/** Labels are not trimmed. */
export function toInternet(
  current: CatalogueFiles,
  segment: string,
  variations: readonly Variation[],
): InternetFile {
  return {
    as_of: '',
    segment,
    type: findInternet(current, segment)?.type ?? segment.toUpperCase(),
    note: NOTE,
    bundles: variations.map(({ code, name, price }) => ({
      code,
      price,
      description: name,
      duration: toDuration(name),
    })),
  }
}

export function toTv(
  current: CatalogueFiles,
  type: 'STARTIMES' | 'SHOWMAX',
  variations: readonly Variation[],
): TvFile {
  const list = findTv(current, type) ?? { as_of: '', type, products: [], add_ons: [] }
  return withProducts(
    list,
    variations.map(({ code, name, price }) => ({ code, name, price })),
    NOTE,
  )
}

/** DStv's add-ons under the vendor's codes. If an add-on has two codes, the first one that is sold counts. */
const ADD_ONS: readonly (readonly [vendor: string, ours: string])[] = [
  ['hdpvr-access-service', 'HDPVRE36'],
  ['extraview-access', 'HDPVRE36'],
  ['asia-addon', 'ASIADDE36'],
  ['frenchplus-addon', 'FRN15E36'],
  ['frenchtouch-addon', 'FRN7E36'],
  ['french11', 'FRN11E36'],
]

const PARTIAL_NOTE = 'Add-on prices from VTpass; all else as of '

/**
 * Only the prices of known add-ons are used: the vendor does not say which add-on belongs to which product, and has its own
 * product codes.
 */
function toDstv(current: CatalogueFiles, variations: readonly Variation[]): TvFile[] {
  const list = findTv(current, 'DSTV')
  if (!list) return []
  const prices = new Map<string, string>()
  for (const [vendor, ours] of ADD_ONS.toReversed()) {
    const price = variations.find(({ code }) => code.toLowerCase() === vendor)?.price
    if (price !== undefined) prices.set(ours, price)
  }
  if (prices.size === 0) return [list]
  const add_ons = list.add_ons.map((addOn) => ({ ...addOn, price: prices.get(addOn.code) ?? addOn.price }))
  const note = list.note?.startsWith(PARTIAL_NOTE) ? list.note : `${PARTIAL_NOTE}${list.as_of}.`
  return [{ ...list, note, add_ons }]
}

/** {"response_description": "000", "content": {…}}; an error has its code in `code` instead. */
export const Envelope = objectWith({ response_description: anyValue, code: anyValue, content: anyValue })

const ListedVariation = objectWith({
  variation_code: anyValue,
  name: Type.String(),
  variation_amount: anyValue,
})

/** The vendor spells the name of the list in two ways, sometimes both in one reply. */
export const Content = objectWith({
  variations: Type.Optional(Type.Array(ListedVariation)),
  varations: Type.Optional(Type.Array(ListedVariation)),
  ...optionalFields('serviceID').properties,
})
