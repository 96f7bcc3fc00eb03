import { isVirtualNin } from '../../contract/virtual-nin.ts'
import { createPhraseMatcher, NO_SUCH_PERSON } from '../not-found.ts'
import type { CreateSource, HttpReply } from '../source.ts'
import { toErrorText, toStatusError } from '../status.ts'
import { createReader } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnReply, NinReply } from './wire.ts'

/** Dojah does not compare phones, so we do. Its API takes the number in the query string. */
export const create: CreateSource<typeof settings> = (
  { appId, secret, ninPath, vninPath, bvnPath, notFound },
  { send },
) => {
  const name = 'dojah'
  const headers = { AppId: appId, Authorization: secret }
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)
  const saysNoSuchPerson = createPhraseMatcher(NOT_FOUND, notFound)
  const isNotFound = ({ status, body }: HttpReply) =>
    (status === 404 || status === 400) && saysNoSuchPerson(toErrorText(body))

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    samples: { nin: '70123456789', bvn: '22222222222' },
    findNin: async ({ nin }, call) => {
      const target = isVirtualNin(nin)
        ? { path: vninPath, query: { vnin: nin } }
        : { path: ninPath, query: { nin } }
      const answer = await send({ method: 'GET', ...target, headers }, call)
      const { status, body } = answer
      if (isNotFound(answer)) return { found: false }
      if (status !== 200) throw toStatusError(name, status, body)
      const reply = readNin(body)
      const { reference, vnin: virtualNin } = reply.entity
      const record = toNinRecord(reply, nin)
      return { found: true, record, reference, virtualNin, mayOmitVirtualNin: true }
    },
    findBvn: async ({ bvn }, call) => {
      const answer = await send({ method: 'GET', path: bvnPath, query: { bvn }, headers }, call)
      const { status, body } = answer
      if (isNotFound(answer)) return { found: false }
      if (status !== 200) throw toStatusError(name, status, body)
      const reply = readBvn(body)
      return { found: true, record: toBvnRecord(reply), reference: reply.entity.reference }
    },
  }
}

/** Sent with a 404, or with a 400: {"error": "Wrong NIN Inputted"}, or with the text in `message`. */
const NOT_FOUND = [...NO_SUCH_PERSON, 'wrong nin inputted', 'wrong vnin inputted', 'wrong bvn inputted']
