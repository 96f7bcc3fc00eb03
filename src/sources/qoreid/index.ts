import { readDay, toIsoDay } from '../../contract/date.ts'
import type { PersonDetails } from '../../contract/person-details.ts'
import type { Static } from '../../contract/schema.ts'
import { isVirtualNin } from '../../contract/virtual-nin.ts'
import { createPhraseMatcher, NO_SUCH_PERSON } from '../not-found.ts'
import { toText } from '../record.ts'
import type { CreateSource } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { toErrorText, toStatusError } from '../status.ts'
import { readLifetimeMs, readTokenText, requireTokenReply, withToken } from '../token.ts'
import { createReader } from '../wire.ts'
import { toBvnRecord, toNinRecord, toVirtualNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnReply, NinReply, TokenReply, Verdict, VirtualNinReply } from './wire.ts'

const name = 'qoreid'
/** QoreID issues a token for the credentials and takes the number in the path. It does not compare phones, so we do. */
export const create: CreateSource<typeof settings> = (
  { clientId, secret, ninPath, vninPath, bvnPath, namesOptional, notFound },
  { send, now },
) => {
  const saysNoSuchPerson = createPhraseMatcher(NO_SUCH_PERSON, notFound)
  const readToken = createReader(name, TokenReply)
  const readVerdict = createReader(name, Verdict)
  const readNin = createReader(name, NinReply)
  const readVirtualNin = createReader(name, VirtualNinReply)
  const readBvn = createReader(name, BvnReply)
  const sendWithToken = withToken(send, {
    source: name,
    now,
    fetchToken: async (call) => {
      const reply = await send({ method: 'POST', path: '/token', body: { clientId, secret } }, call)
      const { accessToken, expiresIn } = readToken(requireTokenReply(name, reply))
      return { text: readTokenText(name, accessToken), lifetimeMs: readLifetimeMs(expiresIn) }
    },
  })
  /** The body and reference of a verified reply; undefined when no person was found. */
  const lookUp = async (path: string, number: string, details: PersonDetails | undefined, call: Call) => {
    const sent = toSentDetails(details)
    const request = { method: 'POST', path: path.replace('{number}', number), body: sent ?? {} } as const
    const reply = await sendWithToken(request, call)
    const { status, body } = reply
    if (status === 404 && saysNoSuchPerson(toErrorText(body))) return undefined
    if (status !== 200 && status !== 201) throw toStatusError(name, status, body)
    const verdict = readVerdict(body)
    return isVerified(verdict, sent !== undefined) ? { body, reference: verdict.id } : undefined
  }

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    needsNames: namesOptional === 'off',
    samples: {
      nin: '63184876213',
      bvn: '95888168924',
      details: { first_name: 'Bunch', last_name: 'Dillon' },
    },
    findNin: async ({ nin, details }, call) => {
      const isVirtual = isVirtualNin(nin)
      const found = await lookUp(isVirtual ? vninPath : ninPath, nin, details, call)
      if (!found) return { found: false }
      const { body, reference } = found
      const record = isVirtual ? toVirtualNinRecord(readVirtualNin(body)) : toNinRecord(readNin(body))
      return { found: true, record, reference }
    },
    findBvn: async ({ bvn, details }, call) => {
      const found = await lookUp(bvnPath, bvn, details, call)
      if (!found) return { found: false }
      return { found: true, record: toBvnRecord(readBvn(found.body)), reference: found.reference }
    },
  }
}

/** QoreID compares names itself. Its verdict is not used: the record is compared here. Undefined without names. */
function toSentDetails({ first_name, last_name, date_of_birth }: PersonDetails = {}) {
  if (first_name === undefined || last_name === undefined) return undefined
  const born = date_of_birth === undefined ? undefined : readDay(date_of_birth)
  return { firstname: first_name, lastname: last_name, ...(born && { dob: toIsoDay(born) }) }
}

/** Only "complete verified" has a record. An undocumented status is a bad response. */
function isVerified({ status }: Static<typeof Verdict>, hasNames: boolean): boolean {
  const verdict = `${toText(status.state)} ${toText(status.status)}`.toLowerCase()
  if (verdict === 'complete verified') return true
  if (/^complete not[ _]found$/.test(verdict)) return false
  // A name mismatch. Without names the account has the wrong product. With names there may be a record, or not: it is read.
  const isAboutNames = /^complete (id_mismatch|not[ _]verified|unverified)$/.test(verdict)
  if (isAboutNames && hasNames) return true
  const problem = isAboutNames ? 'rejected' : 'unknown_shape'
  throw new SourceError(name, 'bad_response', { problem })
}
