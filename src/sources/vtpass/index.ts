import type { CatalogueFiles } from '../../contract/catalogue-files.ts'
import type { CreateSource } from '../source.ts'
import { type Call, SourceError, type SourceFailure } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'
import { toStatusError } from '../status.ts'
import { createReader } from '../wire.ts'
import { NAME, toDstv, toInternet, toTv, toVariations, type Variation } from './map.ts'
import type { settings } from './settings.ts'
import { Content, Envelope } from './wire.ts'

const DONE = '000'
const NOT_SOLD = '012'

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
    if (status !== 200) throw toStatusError(NAME, status)
    const { code, response_description, content } = readEnvelope(body)
    if (response_description !== DONE) {
      const number = String(code ?? response_description)
      if (number === NOT_SOLD) return undefined
      const [reason, problem] = MEANINGS[number] ?? ['bad_response', 'rejected']
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
  return { name: NAME, isExternal: true, fetchCatalogue }
}
