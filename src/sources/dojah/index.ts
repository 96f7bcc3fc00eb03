import { isAbsent } from '../record.ts'
import { saysUnknownPath, toStatusError } from '../status.ts'
import type { Create } from '../vendors.ts'
import { createReader, refuseContradiction } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnReply, NinReply, saysFailed } from './wire.ts'

/** Dojah takes no phone: it is compared by us. The number travels in the query string, as its API wants it. */
export const create: Create<typeof settings> = ({ appId, secret, ninPath, bvnPath }, { send }) => {
  const name = 'dojah'
  const headers = { AppId: appId, Authorization: secret }
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)
  return {
    name,
    isOutside: true,
    samples: { nin: '70123456789', bvn: '22222222222' },
    findNin: async ({ nin }, call) => {
      const { status, body } = await send({ method: 'GET', path: ninPath, query: { nin }, headers }, call)
      if (status === 404 && saysNobody(body)) return { found: false }
      if (status !== 200) throw toStatusError(name, status)
      const reply = readNin(body)
      refuseContradiction(name, saysFailed(body))
      const { nin: repeated, reference } = reply.entity
      return { found: true, record: toNinRecord(reply, nin), reference, unproven: isAbsent(repeated) }
    },
    findBvn: async ({ bvn }, call) => {
      const { status, body } = await send({ method: 'GET', path: bvnPath, query: { bvn }, headers }, call)
      if (status === 404 && saysNobody(body)) return { found: false }
      if (status !== 200) throw toStatusError(name, status)
      const reply = readBvn(body)
      refuseContradiction(name, saysFailed(body))
      return { found: true, record: toBvnRecord(reply), reference: reply.entity.reference }
    },
  }
}

/**
 * A 404 of Dojah is {"error": "text"} and nothing else. Those of frameworks and proxies, who do not know the path, look much
 * like it: a wrong setting must not deny people.
 */
function saysNobody(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('error' in body)) return false
  if (typeof body.error !== 'string' || saysUnknownPath(body.error)) return false
  return !['statusCode', 'status', 'path'].some((key) => key in body)
}
