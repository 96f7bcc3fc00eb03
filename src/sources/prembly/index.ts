import type { CreateSource } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { toStatusError } from '../status.ts'
import { createReader, refuseContradiction } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnData, BvnReply, NinData, NinReply, saysFailed, toCode } from './wire.ts'

/** The vendor's codes that are answers. `watchlisted` is about BVNs only: "Blocked/Watch listed". */
const CODES = { found: '00', notFound: '01', notNow: '02', noFunds: '03', watchlisted: '07' } as const

/** The code is the answer; it comes with 200, and is believed with 400 and 404 too. Other statuses speak for themselves. */
const CODED_STATUSES: readonly number[] = [200, 400, 404]

/** Prembly takes no phone: it is compared by us. */
export const create: CreateSource<typeof settings> = (
  { apiKey, appId, ninPath, ninField, bvnPath },
  { send },
) => {
  const name = 'prembly'
  const headers = { 'x-api-key': apiKey, ...(appId === undefined ? {} : { 'app-id': appId }) }
  const readNin = createReader(name, NinReply)
  const readNinData = createReader(name, NinData)
  const readBvn = createReader(name, BvnReply)
  const readBvnData = createReader(name, BvnData)

  /** The reply and its code. What is neither a record nor an answer without one is thrown. */
  const ask = async (path: string, question: Record<string, string>, call: Call) => {
    const { status, body } = await send({ method: 'POST', path, headers, body: question }, call)
    const code = CODED_STATUSES.includes(status) ? toCode(body) : ''
    if (code === CODES.notFound || code === CODES.watchlisted) return { body, code }
    if (code === CODES.notNow) throw new SourceError(name, 'unreachable', { trouble: 'vendor_down' })
    if (code === CODES.noFunds) throw new SourceError(name, 'refused', { trouble: 'funds' })
    if (status !== 200 || code !== CODES.found) throw toStatusError(name, status, body)
    refuseContradiction(name, saysFailed(body))
    return { body, code }
  }

  return {
    name,
    isExternal: true,
    samples: { bvn: '54651333604' },
    findNin: async ({ nin }, call) => {
      const { body, code } = await ask(ninPath, { [ninField]: nin }, call)
      if (code === CODES.notFound) return { found: false }
      if (code === CODES.watchlisted)
        throw new SourceError(name, 'bad_response', { trouble: 'unknown_shape' })
      const { verification, nin_data, data } = readNin(body)
      const record = toNinRecord(readNinData(nin_data ?? data), nin)
      return { found: true, record, reference: verification?.reference }
    },
    findBvn: async ({ bvn }, call) => {
      const { body, code } = await ask(bvnPath, { number: bvn }, call)
      if (code === CODES.notFound) return { found: false }
      if (code === CODES.watchlisted) return { found: false, watchlisted: true }
      const { verification, bvn_data, data } = readBvn(body)
      const record = toBvnRecord(readBvnData(bvn_data ?? data))
      return { found: true, record, reference: verification?.reference }
    },
  }
}
