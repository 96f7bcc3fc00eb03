import { toLocalPhone } from '../../contract/phone.ts'
import { createPhraseMatcher, NO_SUCH_PERSON } from '../not-found.ts'
import type { Call, CreateSource } from '../source.ts'
import { isFormatComplaint, isTemporary, toStatusError } from '../status.ts'
import { createReader } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnReply, NinReply, toCode, toMessage } from './wire.ts'

/** Blusalt compares the phone itself, and returns an error when it differs. */
export const create: CreateSource<typeof settings> = (
  { clientId, appName, apiKey, publicKey, ninPath, bvnPath, mismatch, notFound },
  { send },
) => {
  const name = 'blusalt'
  const headers = {
    clientid: clientId,
    appname: appName,
    apikey: apiKey,
    ...(publicKey === undefined ? {} : { publickey: publicKey }),
  }
  const saysNoSuchPerson = createPhraseMatcher(NO_SUCH_PERSON, notFound)
  const saysPhoneDiffers = (message: string) =>
    mismatch.test(message) && !isFormatComplaint(message) && !isTemporary(message)
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)

  /** The reply with a record; undefined when no person has that number and phone. */
  const lookUp = async (path: string, input: Record<string, string>, call: Call): Promise<unknown> => {
    const { status, body } = await send({ method: 'POST', path, headers, body: input }, call)
    // An error may come with 200.
    const code = status === 200 ? toCode(body) : status
    if (code === 200) return body
    const message = toMessage(body)
    // A 404 without the vendor's own code comes from a wrong path, and says nothing about a person.
    if (code === 404 && toCode(body) === 404 && saysNoSuchPerson(message)) return undefined
    if ((code === 400 || code === 422) && saysPhoneDiffers(message)) return undefined
    throw toStatusError(name, code, body)
  }

  return {
    name,
    isExternal: true,
    findNin: async ({ nin, phone }, call) => {
      const body = await lookUp(ninPath, { nin_number: nin, phone_number: toLocalPhone(phone) }, call)
      if (body === undefined) return { found: false }
      const reply = readNin(body)
      return { found: true, record: toNinRecord(reply), reference: reply.results.request_reference }
    },
    findBvn: async ({ bvn, phone }, call) => {
      const body = await lookUp(bvnPath, { bvn_number: bvn, phone_number: toLocalPhone(phone) }, call)
      if (body === undefined) return { found: false }
      const reply = readBvn(body)
      return { found: true, record: toBvnRecord(reply), reference: reply.results.request_reference }
    },
  }
}
