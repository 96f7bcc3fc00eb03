import { readDay, toIsoDay } from '../../contract/date.ts'
import type { PersonDetails } from '../../contract/person-details.ts'
import type { Static } from '../../contract/schema.ts'
import { isVirtualNin } from '../../contract/virtual-nin.ts'
import { createPhraseMatcher, NO_SUCH_PERSON } from '../not-found.ts'
import { toFields, toText } from '../record.ts'
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
  /** The body and reference of a reply with a record; otherwise the answer. */
  const lookUp = async (path: string, number: string, details: PersonDetails | undefined, call: Call) => {
    const sent = toSentDetails(details)
    const request = { method: 'POST', path: path.replace('{number}', number), body: sent ?? {} } as const
    const reply = await sendWithToken(request, call)
    const { status, body } = reply
    if (status === 404 && saysNoSuchPerson(toErrorText(body))) return NOT_FOUND
    if (status !== 200 && status !== 201) throw toStatusError(name, status, body)
    const verdict = readVerdict(body)
    const says = toMeaning(verdict, sent !== undefined)
    if (says === 'not_found') return NOT_FOUND
    // By its documents, a mismatch has no record. If there is one, it is compared here.
    if (says === 'names_differ' && !hasRecord(body))
      return { answer: { found: false, namesDiffer: true } } as const
    return { body, reference: verdict.id }
  }

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    needsNames: namesOptional === 'on' ? undefined : { nin: BOTH_NAMES, bvn: toNamesOfBvn(bvnPath) },
    samples: {
      nin: '63184876213',
      bvn: '95888168924',
      details: { first_name: 'Bunch', last_name: 'Dillon' },
    },
    findNin: async ({ nin, details }, call) => {
      const isVirtual = isVirtualNin(nin)
      const found = await lookUp(isVirtual ? vninPath : ninPath, nin, details, call)
      if ('answer' in found) return found.answer
      const { body, reference } = found
      const record = isVirtual ? toVirtualNinRecord(readVirtualNin(body)) : toNinRecord(readNin(body))
      return { found: true, record, reference }
    },
    findBvn: async ({ bvn, details }, call) => {
      const found = await lookUp(bvnPath, bvn, details, call)
      if ('answer' in found) return found.answer
      return { found: true, record: toBvnRecord(readBvn(found.body)), reference: found.reference }
    },
  }
}

const NOT_FOUND = { answer: { found: false } } as const
const BOTH_NAMES = ['first_name', 'last_name'] as const

/** The documents of this product require the first name only. */
const toNamesOfBvn = (path: string) =>
  path.includes('/bvn-premium/') ? (['first_name'] as const) : BOTH_NAMES

/** QoreID compares names itself. Its verdict is not used if there is a record, which is compared here. Undefined without names. */
function toSentDetails({ first_name, last_name, date_of_birth }: PersonDetails = {}) {
  if (first_name === undefined) return undefined
  const born = date_of_birth === undefined ? undefined : readDay(date_of_birth)
  return {
    firstname: first_name,
    ...(last_name !== undefined && { lastname: last_name }),
    ...(born && { dob: toIsoDay(born) }),
  }
}

/** Only "complete verified" has a record. An undocumented status is a bad response. */
function toMeaning(
  { status }: Static<typeof Verdict>,
  hasNames: boolean,
): 'verified' | 'not_found' | 'names_differ' {
  const verdict = `${toText(status.state)} ${toText(status.status)}`.toLowerCase()
  if (verdict === 'complete verified') return 'verified'
  if (/^complete not[ _]found$/.test(verdict)) return 'not_found'
  if (/^complete id[ _]mismatch$/.test(verdict) && hasNames) return 'names_differ'
  // Without names, the account has a product that requires them.
  const isAboutNames = /^complete (id[ _]mismatch|not[ _]verified|unverified)$/.test(verdict)
  const problem = isAboutNames && !hasNames ? 'rejected' : 'unknown_shape'
  throw new SourceError(name, 'bad_response', { problem })
}

const hasRecord = (body: unknown): boolean => {
  const { nin, v_nin, bvn } = toFields(body)
  return [nin, v_nin, bvn].some((part) => typeof part === 'object' && part !== null)
}
