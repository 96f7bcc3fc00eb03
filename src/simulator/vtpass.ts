import { CANARY, type Fault } from './faults.ts'
import { createListVendor, type ListVendor } from './price-list.ts'
import type { VendorReply, VendorRequest, VendorScript } from './stand-in.ts'

const ADD_ONS: Readonly<Record<string, readonly string[]>> = {
  HDPVRE36: ['hdpvr-access-service', 'extraview-access'],
  ASIADDE36: ['asia-addon'],
  FRN15E36: ['frenchplus-addon'],
  FRN7E36: ['frenchtouch-addon'],
  FRN11E36: ['french11'],
}

type Item = { readonly code: string; readonly name: string; readonly price: string }

/** Some amounts are text with kobo, others are numbers. */
const toVariation = ({ code, name, price }: Item, index: number) => ({
  variation_code: code,
  name,
  variation_amount: index % 2 === 0 ? `${price}.00` : Number(price),
  fixedPrice: 'Yes',
})

const done = (
  serviceID: string,
  spelling: 'variations' | 'varations',
  items: readonly Item[],
): VendorReply => ({
  status: 200,
  body: {
    response_description: '000',
    content: {
      ServiceName: serviceID,
      serviceID,
      convinience_fee: '0 %',
      [spelling]: items.map(toVariation),
    },
  },
})

const error = (status: number, code: string): VendorReply => ({
  status,
  body: { code, response_description: CANARY },
})

/** For a service that the account does not sell. No document has it: live accounts answer so. */
const NOT_SOLD: VendorReply = {
  status: 200,
  body: { code: '011', content: { errors: 'Service is Not Valid' } },
}

/** VTpass as documented, with the given lists. */
export const createVtpass = (lists: ListVendor = createListVendor()): VendorScript => ({
  name: 'vtpass',
  settings: (url) => ({
    TABBAT_VTPASS_URL: `${url}/api`,
    TABBAT_VTPASS_API_KEY: 'simulated-key',
    TABBAT_VTPASS_PUBLIC_KEY: 'simulated-public',
  }),
  answer: (request, fault) =>
    !hasKeys(request) ? error(401, '087') : (toFault(fault) ?? toAnswer(lists, request)),
})

/** The vendor's own errors. Most of them come with HTTP status 200. */
function toFault(fault: Fault | undefined): VendorReply | undefined {
  if (fault === 'unauthorised') return error(200, '087')
  if (fault === 'error_in_200') return error(200, '083')
  if (fault === 'missing_fields') return { status: 200, body: { response_description: '000', content: {} } }
  return undefined
}

function toAnswer(lists: ListVendor, { method, path, query }: VendorRequest): VendorReply {
  if (method !== 'GET' || path !== '/api/service-variations') return error(404, '011')
  const serviceID = query.get('serviceID') ?? ''
  const items = listItems(lists, serviceID)
  if (!items) return NOT_SOLD
  return done(serviceID, serviceID === 'spectranet' ? 'varations' : 'variations', items)
}

const hasKeys = ({ headers }: VendorRequest) =>
  headers['api-key'] === 'simulated-key' && headers['public-key'] === 'simulated-public'

const AIRTIME: Item = { code: 'airtime', name: 'Smile Airtime', price: '0' }
/** The vendor has its own codes for base products. */
const PADI: Item = { code: 'dstv-padi', name: 'DStv Padi N4,400', price: '4400' }

function listItems({ files: { internet, tv } }: ListVendor, serviceID: string): Item[] | undefined {
  const segment = serviceID.replace('-direct', '')
  const bundles = internet.find((list) => list.segment === segment)?.bundles
  if (bundles)
    return [AIRTIME, ...bundles.map(({ code, price, description }) => ({ code, price, name: description }))]
  const list = tv.find(({ type }) => type.toLowerCase() === serviceID)
  if (list?.type !== 'DSTV') return list?.products
  const addOns = list.add_ons.flatMap(({ code, name, price }) =>
    (ADD_ONS[code] ?? []).map((vendorCode) => ({ code: vendorCode, name, price })),
  )
  return [PADI, ...addOns]
}
