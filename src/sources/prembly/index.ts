import { isVirtualNin } from '../../contract/virtual-nin.ts'
import { createPhraseMatcher } from '../not-found.ts'
import { firstGiven, toFields } from '../record.ts'
import type { CreateSource } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { toErrorText, toStatusError } from '../status.ts'
import { createReader } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnData, BvnReply, NinData, NinReply, toCode } from './wire.ts'

/** The vendor's codes that are answers. `watchlisted` is about BVNs only: "Blocked/Watch listed". */
const CODES = { found: '00', notFound: '01', notNow: '02', noFunds: '03', watchlisted: '07' } as const

/** With these statuses, the code in the body decides. With others, the HTTP status does. */
const CODED_STATUSES: readonly number[] = [200, 400, 404]

/** Prembly does not compare phones, so we do. */
export const create: CreateSource<typeof settings> = (
  { apiKey, appId, ninPath, ninField, vninPath, bvnPath, notFound },
  { send },
) => {
  const name = 'prembly'
  const headers = { 'x-api-key': apiKey, ...(appId === undefined ? {} : { 'app-id': appId }) }
  // Prembly has a code for it: only the texts of the operator count besides.
  const saysNoSuchPerson = createPhraseMatcher(notFound)
  const readNin = createReader(name, NinReply)
  const readNinData = createReader(name, NinData)
  const readBvn = createReader(name, BvnReply)
  const readBvnData = createReader(name, BvnData)

  /** The reply and its code: found, not found or watch-listed. Every other code is an error. */
  const lookUp = async (path: string, input: Record<string, string>, call: Call) => {
    const { status, body } = await send({ method: 'POST', path, headers, body: input }, call)
    const code = CODED_STATUSES.includes(status) ? toCode(body) : ''
    if (code === CODES.notFound || code === CODES.watchlisted) return { body, code }
    if (code === CODES.notNow) throw new SourceError(name, 'unreachable', { problem: 'vendor_down' })
    if (code === CODES.noFunds) throw new SourceError(name, 'refused', { problem: 'funds' })
    if (code !== CODES.found && CODED_STATUSES.includes(status) && saysNoSuchPerson(toErrorText(body)))
      return { body, code: CODES.notFound }
    if (status !== 200 || code !== CODES.found) throw toStatusError(name, status, body)
    return { body, code }
  }

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    samples: { bvn: '54651333604' },
    findNin: async ({ nin }, call) => {
      const { body, code } = isVirtualNin(nin)
        ? await lookUp(vninPath, { number_nin: nin }, call)
        : await lookUp(ninPath, { [ninField]: nin }, call)
      if (code === CODES.notFound) return { found: false }
      if (code === CODES.watchlisted)
        throw new SourceError(name, 'bad_response', { problem: 'unknown_shape' })
      const { verification, nin_data, data } = readNin(body)
      const person = readNinData(nin_data ?? data)
      const record = toNinRecord(person, nin)
      const virtualNin = firstGiven(person.vnin, person.vNIN)
      const reference = verification?.reference
      return { found: true, record, reference, virtualNin, mayOmitVirtualNin: true }
    },
    findBvn: async ({ bvn }, call) => {
      const { body, code } = await lookUp(bvnPath, { number: bvn }, call)
      if (code === CODES.notFound) return { found: false }
      if (code === CODES.watchlisted) return { found: false, watchlisted: true }
      const { verification, bvn_data, data, request_data } = readBvn(body)
      const record = toBvnRecord(readBvnData(bvn_data ?? data), toFields(request_data).number)
      return { found: true, record, reference: verification?.reference }
    },
  }
}
