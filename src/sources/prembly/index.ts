import { isAbsent } from '../record.ts'
import { type Call, SourceError } from '../source.ts'
import { toStatusError } from '../status.ts'
import type { Create } from '../vendors.ts'
import { createReader } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnData, BvnReply, NinData, NinReply, toCode } from './wire.ts'

/** The code is the answer; it comes with 200, and is believed with 400 and 404 too. Other statuses speak for themselves. */
const CODED_STATUSES: readonly number[] = [200, 400, 404]

/** Prembly takes no phone: it is compared by us. */
export const create: Create<typeof settings> = ({ apiKey, appId, ninPath, ninField, bvnPath }, { send }) => {
  const name = 'prembly'
  const headers = { 'x-api-key': apiKey, ...(appId === undefined ? {} : { 'app-id': appId }) }
  const readNin = createReader(name, NinReply)
  const readNinData = createReader(name, NinData)
  const readBvn = createReader(name, BvnReply)
  const readBvnData = createReader(name, BvnData)

  /** The reply about somebody; undefined when nobody has the number. */
  const ask = async (path: string, question: Record<string, string>, call: Call): Promise<unknown> => {
    const { status, body } = await send({ method: 'POST', path, headers, body: question }, call)
    const code = CODED_STATUSES.includes(status) ? toCode(body) : ''
    if (code === '01') return undefined
    if (code === '02') throw new SourceError(name, 'unreachable', { trouble: 'vendor_down' })
    if (code === '03') throw new SourceError(name, 'refused', { trouble: 'funds' })
    if (status === 200 && code === '00') return body
    throw toStatusError(name, status)
  }

  return {
    name,
    isOutside: true,
    samples: { bvn: '54651333604' },
    findNin: async ({ nin }, call) => {
      const body = await ask(ninPath, { [ninField]: nin }, call)
      if (body === undefined) return { found: false }
      const { verification, nin_data, data } = readNin(body)
      const person = readNinData(nin_data ?? data)
      const record = toNinRecord(person, nin)
      return { found: true, record, reference: verification.reference, unproven: isAbsent(person.nin) }
    },
    findBvn: async ({ bvn }, call) => {
      const body = await ask(bvnPath, { number: bvn }, call)
      if (body === undefined) return { found: false }
      const { verification, bvn_data, data } = readBvn(body)
      const record = toBvnRecord(readBvnData(bvn_data ?? data))
      return { found: true, record, reference: verification.reference }
    },
  }
}
