import type { CatalogueFiles, TvFile } from '../../contract/catalogue-files.ts'
import type { CreateSource } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { toStatusError } from '../status.ts'
import { createReader } from '../wire.ts'
import { NAME, type ProductAddOns, toPackages, toSmile, toSpectranet, toTv } from './map.ts'
import type { settings } from './settings.ts'
import { Bundles, Envelope, Packages, Pins } from './wire.ts'

/** Baxi sells DStv and GOtv with their add-ons, Smile and Spectranet. */
export const create: CreateSource<typeof settings> = (
  { apiKey, bundlesPath },
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
    if (reply.status !== 200) throw toStatusError(NAME, reply.status)
    const { status, code, data } = readEnvelope(reply.body)
    if (status === 'success' && Number(code) === 200) return data
    // The code is often the HTTP status that the reply should have had.
    throw Number(code) >= 400
      ? toStatusError(NAME, Number(code))
      : new SourceError(NAME, 'bad_response', { problem: 'rejected' })
  }
  const fetchPackages = async (path: string, body: object, call: Call) => {
    const data = await fetchData(path, body, call)
    if (data === undefined) throw new SourceError(NAME, 'bad_response', { problem: 'rejected' })
    return toPackages(readPackages(data))
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
    const tv = [await fetchTv('DSTV', call), await fetchTv('GOTV', call)]
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
