import type { CatalogueFiles, InternetFile, TvFile } from '../../contract/bundles.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { findInternet, findTv, toDuration, toPrice, withoutDuplicates, withProducts } from '../price-list.ts'
import { anyValue, createReader, objectWith, optionalFields, statusError } from '../reply.ts'
import { type Call, type CreateSource, SourceError } from '../source.ts'
import type { settings } from './settings.ts'

/** Baxi sells DStv and GOtv with their add-ons, StarTimes, Smile and Spectranet. */
export const create: CreateSource<typeof settings> = (
  { apiKey, bundlesPath, startimes },
  { send, now = () => new Date() },
) => {
  const readEnvelope = createReader(NAME, Envelope)
  const readPackages = createReader(NAME, Packages)
  const readBundles = createReader(NAME, Bundles)
  const readPins = createReader(NAME, Pins)

  /** Undefined after a 404. */
  const fetchData = async (path: string, body: object, call: Call): Promise<unknown> => {
    const headers = { 'x-api-key': apiKey, 'Baxi-date': now().toUTCString() }
    const reply = await send({ method: 'POST', path, headers, body }, call)
    if (reply.status === 404) return undefined
    if (reply.status !== 200) throw statusError(NAME, reply.status)
    const { status, code, data } = readEnvelope(reply.body)
    if (status === 'success' && Number(code) === 200) return data
    // The code is often the HTTP status that the reply should have had.
    throw Number(code) >= 400
      ? statusError(NAME, Number(code))
      : new SourceError(NAME, 'bad_response', { problem: 'rejected' })
  }
  const fetchPackages = async (path: string, body: object, call: Call) => {
    const data = await fetchData(path, body, call)
    if (data === undefined) throw new SourceError(NAME, 'bad_response', { problem: 'rejected' })
    return toPackages(readPackages(data))
  }

  /** Which fields it has is inferred from the other packages, and no account proved it: after a 404, the list stays as it is. */
  const fetchStartimes = async (current: CatalogueFiles, call: Call): Promise<TvFile[]> => {
    const data = await fetchData('/services/multichoice/list', { service_type: 'startimes' }, call)
    const products = data === undefined ? [] : toPackages(readPackages(data))
    const list = findTv(current, 'STARTIMES') ?? { as_of: '', type: 'STARTIMES', products: [], add_ons: [] }
    return products.length === 0 ? [] : [withProducts(list, products, NOTE)]
  }

  const fetchTv = async (type: 'DSTV' | 'GOTV', call: Call): Promise<TvFile> => {
    const service_type = type.toLowerCase()
    const products = await fetchPackages('/services/multichoice/list', { service_type }, call)
    const addOns: ProductAddOns[] = []
    for (const { code } of products) {
      const body = { service_type, product_code: code }
      addOns.push({ product: code, addOns: await fetchPackages('/services/multichoice/addons', body, call) })
    }
    return toTv(type, products, addOns)
  }

  const fetchCatalogue = async (current: CatalogueFiles, call: Call): Promise<CatalogueFiles> => {
    const tv = [
      await fetchTv('DSTV', call),
      await fetchTv('GOTV', call),
      ...(startimes === 'on' ? await fetchStartimes(current, call) : []),
    ]
    // The documentation does not confirm this path. After a 404, the list stays as it is.
    const smile = await fetchData(bundlesPath, { service_type: 'smile' }, call)
    const pins = await fetchData('/services/epin/bundles', { service_type: 'spectranet' }, call)
    return {
      internet: [
        ...(smile === undefined ? [] : [toSmile(current, readBundles(smile))]),
        ...(pins === undefined ? [] : [toSpectranet(current, readPins(pins))]),
      ],
      tv,
    }
  }
  return { name: NAME, isExternal: true, fetchCatalogue }
}

const NAME = 'baxi'
const NOTE = 'From Baxi.'

type Package = { readonly code: string; readonly name: string; readonly price: string }

/** The packages that are sold for one month, with the price of one month. */
export function toPackages(packages: Static<typeof Packages>): Package[] {
  const monthly = packages.flatMap(({ code, name, availablePricingOptions }) => {
    const option = availablePricingOptions.find(({ monthsPaidFor }) => Number(monthsPaidFor) === 1)
    const price = option && toPrice(NAME, option.price)
    return price === undefined ? [] : [{ code, name, price }]
  })
  return withoutDuplicates(NAME, monthly)
}

type ProductAddOns = { readonly product: string; readonly addOns: readonly Package[] }

/** The vendor lists the add-ons of each product; the catalogue lists the products of each add-on. */
export function toTv(
  type: 'DSTV' | 'GOTV',
  products: readonly Package[],
  sold: readonly ProductAddOns[],
): TvFile {
  const add_ons = withoutDuplicates(
    NAME,
    sold.flatMap(({ addOns }) => addOns),
  ).map((addOn) => ({
    ...addOn,
    products: sold
      .filter(({ addOns }) => addOns.some(({ code }) => code === addOn.code))
      .map(({ product }) => product),
  }))
  return { as_of: '', type, note: NOTE, products: [...products], add_ons }
}

function toSmile(current: CatalogueFiles, bundles: Static<typeof Bundles>): InternetFile {
  const items = bundles.flatMap(({ datacode, name, price, validity }) => {
    const plain = toPrice(NAME, price)
    if (plain === undefined) return []
    const duration = toDuration(String(validity ?? ''), name)
    return [{ code: String(datacode ?? ''), price: plain, description: name, duration }]
  })
  return toInternet(current, 'smile', items)
}

/** Whether it says that none can be bought. */
const isSoldOut = (available: unknown) => /^\s*(0+|-\d+|false|no)\s*$/i.test(String(available))

/** Vouchers have no codes: a voucher with a known label or price keeps its code in our catalogue. */
export function toSpectranet(current: CatalogueFiles, pins: Static<typeof Pins>): InternetFile {
  const known = findInternet(current, 'spectranet')?.bundles ?? []
  const items = pins.flatMap(({ amount, description, available }) => {
    const price = toPrice(NAME, amount)
    if (price === undefined || isSoldOut(available)) return []
    const label = typeof description === 'string' && description.trim() !== '' ? description : undefined
    const same =
      known.find((bundle) => bundle.description === label) ?? known.find((bundle) => bundle.price === price)
    return [
      {
        code: same?.code ?? `pin-${price}`,
        price,
        description: label ?? same?.description ?? `Spectranet N${price}`,
        duration: '',
      },
    ]
  })
  return toInternet(current, 'spectranet', items)
}

const toInternet = (
  current: CatalogueFiles,
  segment: string,
  bundles: InternetFile['bundles'],
): InternetFile => ({
  as_of: '',
  segment,
  type: findInternet(current, segment)?.type ?? segment.toUpperCase(),
  note: NOTE,
  bundles: withoutDuplicates(NAME, bundles),
})

/** {"status": "success", "message": "Successful", "code": 200, "data": […]} */
export const Envelope = objectWith({ status: anyValue, code: anyValue, data: anyValue })

/** A bouquet or an add-on. Only the price of one month is used: a year costs less than twelve months. */
export const Packages = Type.Array(
  objectWith({
    code: Type.String(),
    name: Type.String(),
    availablePricingOptions: Type.Array(optionalFields('monthsPaidFor', 'price')),
  }),
)

/** Not confirmed by the vendor’s documentation. */
const Bundles = Type.Array(
  objectWith({ datacode: anyValue, name: Type.String(), price: anyValue, validity: anyValue }),
)

/** Vouchers. The amount is both value and price; `available` is how many can be bought. */
const Pins = Type.Array(objectWith({ amount: anyValue, description: anyValue, available: anyValue }))
