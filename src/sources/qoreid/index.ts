import type { Static } from '../../contract/schema.ts'
import { createPhraseMatcher, NO_SUCH_PERSON } from '../not-found.ts'
import { toText } from '../record.ts'
import type { CreateSource } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { toErrorText, toStatusError } from '../status.ts'
import { readLifetimeMs, readTokenText, requireTokenReply, withToken } from '../token.ts'
import { createReader } from '../wire.ts'
import { toBvnRecord, toNinRecord } from './map.ts'
import type { settings } from './settings.ts'
import { BvnReply, NinReply, TokenReply, Verdict } from './wire.ts'

const name = 'qoreid'
const WHY_NOT =
  'QoreID wants a first name, and callers of this API send none. If the product of your account does without, set TABBAT_QOREID_NAMES_OPTIONAL=on.'

/** QoreID gives a token for the credentials; the number travels in the path. The phone is compared by us. */
export const create: CreateSource<typeof settings> = (
  { clientId, secret, ninPath, bvnPath, namesOptional, notFound },
  { send, now },
) => {
  if (namesOptional === 'off') return { name, isExternal: true, cannot: { nin: WHY_NOT, bvn: WHY_NOT } }

  const saysNoSuchPerson = createPhraseMatcher(NO_SUCH_PERSON, notFound)
  const readToken = createReader(name, TokenReply)
  const readVerdict = createReader(name, Verdict)
  const readNin = createReader(name, NinReply)
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
  const ask = async (path: string, number: string, call: Call) => {
    const question = { method: 'POST', path: path.replace('{number}', number), body: {} } as const
    const reply = await sendWithToken(question, call)
    const { status, body } = reply
    if (status === 404 && saysNoSuchPerson(toErrorText(body))) return undefined
    if (status !== 200 && status !== 201) throw toStatusError(name, status, body)
    const verdict = readVerdict(body)
    return isVerified(verdict) ? { body, reference: verdict.id } : undefined
  }

  return {
    name,
    isExternal: true,
    samples: { nin: '63184876213', bvn: '95888168924' },
    findNin: async ({ nin }, call) => {
      const found = await ask(ninPath, nin, call)
      if (!found) return { found: false }
      return { found: true, record: toNinRecord(readNin(found.body)), reference: found.reference }
    },
    findBvn: async ({ bvn }, call) => {
      const found = await ask(bvnPath, bvn, call)
      if (!found) return { found: false }
      return { found: true, record: toBvnRecord(readBvn(found.body)), reference: found.reference }
    },
  }
}

/** Only complete and verified is an answer with a person; whatever is not documented is no answer at all. */
function isVerified({ status }: Static<typeof Verdict>): boolean {
  const verdict = `${toText(status.state)} ${toText(status.status)}`.toLowerCase()
  if (verdict === 'complete verified') return true
  if (/^complete not[ _]found$/.test(verdict)) return false
  // The names do not match, and we sent none: the product is the wrong one, and nothing is known about the person.
  const isAboutNames = /^complete (id_mismatch|not[ _]verified|unverified)$/.test(verdict)
  const trouble = isAboutNames ? 'rejected' : 'unknown_shape'
  throw new SourceError(name, 'bad_response', { trouble })
}
