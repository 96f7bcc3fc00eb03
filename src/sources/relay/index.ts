import { toLocalPhone } from '../../contract/phone.ts'
import type { ValuesOf } from '../../settings/setting.ts'
import type { CreateSource, Send, VendorDeps } from '../source.ts'
import { withToken } from '../token.ts'
import { createReader } from '../wire.ts'
import { fetchRelayCatalogue } from './catalogue.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { createFetchToken } from './token.ts'
import { createJudge, referenceIn } from './verdict.ts'
import { BvnReply, NinReply } from './wire.ts'

const name = 'relay'

/** Another server of this same API. It compares the phone itself, and so do we. */
export const create: CreateSource<typeof settings> = (values, tools) => {
  const ask = toAsk(values, tools)
  const isVerified = createJudge(name, values.notFound)
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)
  return {
    name,
    isExternal: true,
    findNin: async ({ nin, phone }, call) => {
      const body = { nin, phone: toLocalPhone(phone) }
      const reply = await ask({ method: 'POST', path: '/kyc/verify-nin', body }, call)
      const reference = referenceIn(reply.body)
      if (!isVerified(reply)) return { found: false, reference }
      return { found: true, record: toNinRecord(readNin(reply.body)), reference }
    },
    findBvn: async ({ bvn, phone }, call) => {
      const body = { bvn, phone: toLocalPhone(phone), amount: values.amount }
      const reply = await ask({ method: 'POST', path: '/kyc/verify-bvn', body }, call)
      const reference = referenceIn(reply.body)
      if (!isVerified(reply)) return { found: false, reference }
      return { found: true, record: toBvnRecord(readBvn(reply.body)), reference }
    },
    fetchCatalogue: (current, call) => fetchRelayCatalogue(ask, current, call),
  }
}

/** With the key as it is, or with a token that two keys give. The settings have been checked: there is one or the other. */
function toAsk(
  { key, publicKey = '', secretKey = '', tokenPath }: ValuesOf<typeof settings>,
  { send, now }: VendorDeps,
): Send {
  if (key !== undefined) {
    const authorization = `Bearer ${key}`
    return (question, call) => send({ ...question, headers: { ...question.headers, authorization } }, call)
  }
  const fetchToken = createFetchToken(name, send, { publicKey, secretKey, tokenPath })
  return withToken(send, { source: name, fetchToken, now })
}
