import type { Static } from '../../contract/schema.ts'
import { isVirtualNin } from '../../contract/virtual-nin.ts'
import { createPhraseMatcher, NO_SUCH_PERSON } from '../not-found.ts'
import { toText } from '../record.ts'
import type { CreateSource } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { isTemporary, toErrorText, toStatusError } from '../status.ts'
import { createReader, refuseContradiction } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnReply, isErrorWithoutData, NinReply, saysFailed, toCode } from './wire.ts'

/** Youverify does not compare phones, so we do. It requires a statement of consent; the operator is responsible for it. */
export const create: CreateSource<typeof settings> = (
  { token, ninPath, vninPath, bvnPath, premium, notFound },
  { send },
) => {
  const name = 'youverify'
  const headers = { token }
  const isPremium = premium === 'on'
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)
  const saysNoSuchPerson = createPhraseMatcher(NO_SUCH_PERSON, notFound)

  /** The reply; undefined when its error text says that there is no such person. */
  const lookUp = async (path: string, input: Record<string, unknown>, call: Call): Promise<unknown> => {
    const { status, body } = await send({ method: 'POST', path, headers, body: input }, call)
    const isError = status === 404 || status === 400 || (status === 200 && isErrorWithoutData(body))
    if (isError && saysNoSuchPerson(toErrorText(body))) return undefined
    if (status !== 200) throw toStatusError(name, status, body)
    // An error may come with 200.
    const code = toCode(body)
    if (code !== 200) throw toStatusError(name, code, body)
    refuseContradiction(name, saysFailed(body))
    return body
  }

  /** An unknown status is a bad response. The reason of "not_found" may be a temporary failure. */
  const isFound = ({ status, reason, firstName, lastName }: Static<typeof BvnReply>['data']): boolean => {
    if (status === 'found') return true
    refuseContradiction(name, toText([firstName, lastName]) !== '')
    if (status === 'not_found' && isTemporary(toText(reason)))
      throw new SourceError(name, 'unreachable', { problem: 'vendor_down' })
    if (status === 'not_found') return false
    throw new SourceError(name, 'bad_response', { problem: 'unknown_shape' })
  }

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    samples: { nin: '11111111111', bvn: '11111111111' },
    findNin: async ({ nin }, call) => {
      const isVirtual = isVirtualNin(nin)
      const input = { id: nin, isSubjectConsent: true, ...(isPremium && !isVirtual && { premiumNin: true }) }
      const body = await lookUp(isVirtual ? vninPath : ninPath, input, call)
      if (body === undefined) return { found: false }
      const reply = readNin(body)
      const { id: reference } = reply.data
      return isFound(reply.data)
        ? { found: true, record: toNinRecord(reply), reference, virtualNin: reply.data.vNIN }
        : { found: false, reference }
    },
    findBvn: async ({ bvn }, call) => {
      const input = { id: bvn, isSubjectConsent: true, ...(isPremium && { premiumBVN: true }) }
      const body = await lookUp(bvnPath, input, call)
      if (body === undefined) return { found: false }
      const reply = readBvn(body)
      const { id: reference } = reply.data
      return isFound(reply.data)
        ? { found: true, record: toBvnRecord(reply), reference }
        : { found: false, reference }
    },
  }
}
