import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { toLocalPhone } from '../../contract/person.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { completeBvn, completeNin, type Given, toNumber, toText } from '../record.ts'
import {
  createPhraseMatcher,
  createReader,
  isFormatComplaint,
  isTemporary,
  NO_SUCH_PERSON,
  objectWith,
  statusError,
} from '../reply.ts'
import type { Call, CreateSource } from '../source.ts'
import type { settings } from './settings.ts'

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
    throw statusError(name, code, body)
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

export const toNinRecord = ({ results }: Static<typeof NinReply>): NinRecord =>
  completeNin({ ...results, nin_number: toNumber(results.nin_number) })

export const toBvnRecord = ({ results }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({ ...results, bvn_number: toNumber(results.bvn_number), nin: toNumber(results.nin) })

/** {"status_code": 200, "status": "Success", "message": "…", "results": {…}}; the same without results for an error. */
type Envelope = { readonly status_code?: unknown; readonly message?: unknown } | null | undefined

/** The vendor's own status, which overrides the HTTP status. NaN when there is none: the reply is not from Blusalt. */
export const toCode = (body: unknown): number => Number(toText((body as Envelope)?.status_code) || Number.NaN)

/** Only for comparing: it may contain personal data. */
const toMessage = (body: unknown): string => toText((body as Envelope)?.message)

/** The results have the contract's own shape. A record that is not verified is a bad response. */
const results = <T>() =>
  Type.Unsafe<Given<T> & { readonly request_reference?: unknown }>({
    type: 'object',
    properties: { verification_status: { enum: ['VERIFIED', '', null] } },
  })

export const NinReply = objectWith({ results: results<NinRecord>() })
export const BvnReply = objectWith({ results: results<BvnRecord>() })
