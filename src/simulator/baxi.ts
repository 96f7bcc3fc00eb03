import { CANARY } from './faults.ts'
import { createListVendor, type ListVendor } from './price-list.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const done = (data: unknown): VendorReply => ({
  status: 200,
  body: { status: 'success', message: 'Successful', code: 200, data },
})

const error = (status: number, code: number): VendorReply => ({
  status,
  body: { status: 'error', message: CANARY, code, errors: [CANARY], data: null },
})

/** The yearly option comes first, and costs less than twelve months. */
const toPackage = ({ code, name, price }: { code: string; name: string; price: string }) => ({
  availablePricingOptions: [
    { monthsPaidFor: 12, price: Number(price) * 11, invoicePeriod: 12 },
    { monthsPaidFor: 1, price: Number(price), invoicePeriod: 1 },
  ],
  code,
  name,
  description: ' ',
})

/** Baxi as documented, with the given lists. */
export const createBaxi = (lists: ListVendor = createListVendor()): VendorScript => ({
  name: 'baxi',
  settings: (url) => ({ TABBAT_BAXI_URL: `${url}/api/baxipay`, TABBAT_BAXI_API_KEY: 'simulated-key' }),
  answer: ({ method, path, headers, body }, fault) => {
    if (headers['x-api-key'] !== 'simulated-key' || fault === 'unauthorised') return error(401, 401)
    if (Number.isNaN(Date.parse(String(headers['baxi-date'])))) return error(400, 400)
    if (fault === 'error_in_200') return error(200, 500)
    if (fault === 'missing_fields') return done([{ code: 'HDPVRE36' }])
    const data =
      method === 'POST' ? listItems(lists, path.replace('/api/baxipay/services', ''), body) : undefined
    return data ? done(data) : error(404, 404)
  },
})

function listItems(
  { files: { internet, tv } }: ListVendor,
  path: string,
  body: unknown,
): object[] | undefined {
  const { service_type, product_code } = (body ?? {}) as Record<string, unknown>
  const list = tv.find(({ type }) => type.toLowerCase() === service_type)
  const bundles = internet.find(({ segment }) => segment === service_type)?.bundles ?? []
  if (path === '/multichoice/list') return list?.products.map(toPackage)
  if (path === '/multichoice/addons')
    return list?.add_ons.filter(({ products }) => products.includes(String(product_code))).map(toPackage)
  if (path === '/databundle/bundles')
    return bundles.map(({ code, price, description, duration }) => ({
      name: description,
      allowance: '',
      price: Number(price),
      validity: duration,
      datacode: code,
    }))
  if (path === '/epin/bundles')
    return bundles.map(({ price, description }) => ({ amount: price, available: 100, description }))
  return undefined
}
