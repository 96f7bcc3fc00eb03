import { toLocalPhone } from '../../contract/phone.ts'
import type { ValuesOf } from '../../settings/setting.ts'
import type { CreateSource, Send, VendorDeps } from '../source.ts'
import { withToken } from '../token.ts'
import { createReader } from '../wire.ts'
import { fetchRelayCatalogue } from './catalogue.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { createFetchToken } from './token.ts'
import { createVerifiedCheck, referenceIn } from './verdict.ts'
import { BvnReply, NinReply } from './wire.ts'

const name = 'relay'

/** Another server of this same API. It compares the phone itself, and we compare it again. */
export const create: CreateSource<typeof settings> = (values, deps) => {
  const send = withCredentials(values, deps)
  const isVerified = createVerifiedCheck(name, values.notFound)
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)
  return {
    name,
    isExternal: true,
    findNin: async ({ nin, phone }, call) => {
      const body = { nin, phone: toLocalPhone(phone) }
      const reply = await send({ method: 'POST', path: '/kyc/verify-nin', body }, call)
      const reference = referenceIn(reply.body)
      if (!isVerified(reply)) return { found: false, reference }
      return { found: true, record: toNinRecord(readNin(reply.body)), reference }
    },
    findBvn: async ({ bvn, phone }, call) => {
      const body = { bvn, phone: toLocalPhone(phone), amount: values.amount }
      const reply = await send({ method: 'POST', path: '/kyc/verify-bvn', body }, call)
      const reference = referenceIn(reply.body)
      if (!isVerified(reply)) return { found: false, reference }
      return { found: true, record: toBvnRecord(readBvn(reply.body)), reference }
    },
    fetchCatalogue: (current, call) => fetchRelayCatalogue(send, current, call),
  }
}

/** Sends requests with the configured key, or with a token that is fetched for two keys. `check` requires one or the other. */
function withCredentials(
  { key, publicKey = '', secretKey = '', tokenPath }: ValuesOf<typeof settings>,
  { send, now }: VendorDeps,
): Send {
  if (key !== undefined) {
    const authorization = `Bearer ${key}`
    return (request, call) => send({ ...request, headers: { ...request.headers, authorization } }, call)
  }
  const fetchToken = createFetchToken(name, send, { publicKey, secretKey, tokenPath })
  return withToken(send, { source: name, fetchToken, now })
}
