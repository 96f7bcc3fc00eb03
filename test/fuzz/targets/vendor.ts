import { REFUSED_TEXTS } from '../../../src/simulator/faults.ts'
import { refuseOtherNumber, requireUsable } from '../../../src/sources/open-vendor.ts'
import { type HttpReply, type HttpRequest, SourceError } from '../../../src/sources/source.ts'
import { checkVendorFile } from '../../../src/sources/vendor-file/check.ts'
import { createFileSource } from '../../../src/sources/vendor-file/create-source.ts'
import { toSampleReply } from '../../../src/sources/vendor-file/sample-reply.ts'
import { OUTCOMES, type VendorFile } from '../../../src/sources/vendor-file/schema.ts'
import { SHIPPED_VENDORS } from '../../../src/sources/vendors.ts'
import { NAMES, NUMBER, PHONE_CORE, refusePersonal, type Target } from '../target.ts'

type Kind = 'nin' | 'bvn'

export const FILES = new Map(
  [...SHIPPED_VENDORS].flatMap(([name, { loaded }]) => (loaded ? [[name, loaded.file] as const] : [])),
)
const DETAILS = { first_name: NAMES[0], last_name: NAMES[1], date_of_birth: '1990-01-05' }
export const PERSON = { number: NUMBER, phoneCore: PHONE_CORE }
const TOKEN_REPLY = {
  status: 200,
  body: { access_token: 'token', expires_in: 3600, token: 'token', data: {} },
}

const settingsOf = ({ settings = {} }: VendorFile) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, { type, default: value = 'x' }]) => [
      name,
      type === 'pattern' ? undefined : type === 'switch' ? 'on' : value,
    ]),
  )

/** What a file makes of a reply to a look-up; undefined is a failure of the vendor. */
export async function ask(name: string, file: VendorFile, kind: Kind, reply: HttpReply) {
  let isAsked = false
  const send = async (request: HttpRequest) => {
    if (file.authentication && 'token' in file.authentication && !isAsked && !isLookup(request))
      return TOKEN_REPLY
    isAsked = true
    return reply
  }
  const source = createFileSource(name, file, settingsOf(file), { send })
  const call = { signal: new AbortController().signal, reference: 'ver_fuzz' }
  const query = { phone: PHONE_CORE, details: DETAILS }
  try {
    const answer =
      kind === 'nin'
        ? await source.findNin?.({ nin: NUMBER, ...query }, call)
        : await source.findBvn?.({ bvn: NUMBER, ...query }, call)
    const requested = { number: NUMBER, phone: PHONE_CORE }
    if (answer?.found) return requireUsable(name, requested, answer as never, reply.body)
    refuseOtherNumber(name, requested, reply.body)
    return answer
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    refusePersonal(`${error.message} ${JSON.stringify(error)}`)
    return undefined
  }
}

/** A request for a token does not have the number. */
const isLookup = (request: HttpRequest) => JSON.stringify(request).includes(NUMBER)

/** `vendor kind status`, and the body of the reply. */
export function openAnswerTarget(): Target {
  const seeds = [...FILES].flatMap(([name, file]) =>
    (['nin', 'bvn'] as const).flatMap((kind) =>
      OUTCOMES.flatMap((outcome) => {
        const reply = file.operations[kind] && toSampleReply(file, kind, outcome, PERSON)
        return reply ? [Buffer.from(`${name} ${kind} ${reply.status}\n${JSON.stringify(reply.body)}`)] : []
      }),
    ),
  )
  return {
    seeds,
    words: [
      ...REFUSED_TEXTS,
      ...OUTCOMES,
      'no record for 99345678901',
      `no record for ${NUMBER}`,
      'status',
      'message',
      'data',
      'error',
      'success',
      '200',
      '404',
      '422',
    ],
    run: async (input) => {
      const text = input.toString()
      const [head = '', ...lines] = text.split('\n')
      const [name = '', kind, status] = head.split(' ')
      const file = FILES.get(name)
      const body = parse(lines.join('\n'))
      if (!file || (kind !== 'nin' && kind !== 'bvn') || body === undefined) return
      checkAnswer(await ask(name, file, kind, { status: Number(status), body }), body)
    },
  }
}

type Answer = Awaited<ReturnType<typeof ask>>

function checkAnswer(answer: Answer, body: unknown): void {
  if (!answer) return
  const values = listValues(body)
  if (answer.found) {
    const { record } = answer
    const number = 'nin_number' in record ? record.nin_number : record.bvn_number
    if (number !== NUMBER) throw new Error('the record is of another number')
    // A name that the vendor did not send is another person's.
    const { first_name: first, last_name: last } = record.personal_info as Record<string, string>
    const all = values.join(' ').toLowerCase()
    for (const part of `${first} ${last}`.toLowerCase().split(/[^\p{L}]+/u))
      if (!all.includes(part)) throw new Error('the record has a name that the vendor did not send')
    return
  }
  checkNumber(body)
  if ('watchlisted' in answer || 'namesDiffer' in answer) return
  // Somebody is in the reply, with the number, the phone and a name: "no such person" is not what it says.
  const hasNumber = values.includes(NUMBER)
  const hasPhone = values.some((value) => value.endsWith(PHONE_CORE) && value.length <= 14)
  if (hasNumber && hasPhone && values.length > 8)
    throw new Error('a reply with the record of the person is read as "not found"')
}

/** "No record" for another number says nothing about the requested one. */
function checkNumber(body: unknown): void {
  const { message } = Object(body) as { readonly message?: unknown }
  const [, other = NUMBER] = /^no record for (\d{11})$/.exec(String(message)) ?? []
  if (other !== NUMBER && other !== `0${PHONE_CORE}`)
    throw new Error('"no record" for another number is read as one for the requested number')
}

/** All texts and numbers of a reply, without the names of its members. */
function listValues(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(listValues)
  return value === null || value === undefined || typeof value === 'boolean' ? [] : [String(value)]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Any JSON: it is refused with sentences, or it is a vendor that can be asked. */
export function openFileTarget(): Target {
  return {
    seeds: [...FILES.values()].map((file) => Buffer.from(JSON.stringify(file))),
    words: [
      ...OUTCOMES,
      '{number}',
      '{phone}',
      '{secret}',
      'data.status',
      '$.x',
      'is',
      'is_not',
      'says',
      'then',
    ],
    run: async (input) => {
      const content = parse(input.toString())
      if (content === undefined) return
      const { file, problems = [] } = checkVendorFile(content) as { file?: VendorFile; problems?: string[] }
      if (problems.some((problem) => problem === '')) throw new Error('a problem has no text')
      if (file) await tryFile(file)
    },
  }
}

async function tryFile(file: VendorFile): Promise<void> {
  for (const kind of ['nin', 'bvn'] as const) {
    const reply = file.operations[kind] && toSampleReply(file, kind, 'found', PERSON)
    const answer = reply && (await ask('fuzz', file, kind, reply))
    if (answer?.found) checkAnswer(answer, reply?.body)
  }
}
