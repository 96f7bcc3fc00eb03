import { randomInt } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { toIsoDay } from '../contract/time.ts'
import { nodeHttp } from '../http/node-http.ts'
import { respellDay, toBvnPerson, toNinPerson } from '../simulator/people.ts'
import type { Recorder, Sample } from './finding.ts'

export type Reply = {
  /** 0: no answer. */
  readonly status: number
  readonly body: string
  readonly headers: IncomingHttpHeaders
  readonly ms: number
}

export type Request = {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** If it is not the key of the rehearsal. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** A verification of a synthetic person. It can be asked again, with the same Idempotency-Key. */
export type Question = {
  readonly number: string
  readonly phone: string
  readonly idempotencyKey: string
  /** In the rows of the audit log, so that they are found again. */
  readonly consent: string
}

/** An answer to a question. */
export type Answer = Sample & {
  readonly question: Question
  readonly reference: string | undefined
  readonly body: string
  readonly isReplay: boolean
}

/** Sends the requests of the exercises to a server. */
export type Callers = {
  readonly send: (request: Request) => Promise<Reply>
  readonly ask: (
    question: Question,
    more?: { readonly key?: string; readonly headers?: Readonly<Record<string, string>> },
  ) => Promise<Answer>
  /** Whether the answer that came later is there and verified. */
  readonly isVerifiedLater: (pending: Answer) => Promise<boolean>
  readonly nextQuestion: () => Question
  /** Asks about ten times a second until it is stopped. Every answer is in the chart of the exercise. */
  readonly startLoad: () => Load
  readonly close: () => void
}

export type Load = {
  readonly answers: readonly Answer[]
  /** Resolves to whether it became true in time. */
  readonly until: (isTrue: (answers: readonly Answer[]) => boolean, withinMs: number) => Promise<boolean>
  /** Resolves when all is answered. */
  readonly stop: () => Promise<readonly Answer[]>
}

export type Target = {
  /** The address of the server now: it changes with a restart. */
  readonly url: () => string
  readonly key: string
  readonly kind: 'nin' | 'bvn'
  readonly recorder: Recorder
}

const PAUSE_MS = 100
const LOOK_MS = 20
/** Longer than the server lets a caller wait. */
const TIMEOUT_MS = 30_000
const MAX_UNDER_WAY = 400

export function createCallers({ url, key, kind, recorder }: Target): Callers {
  const agents = createAgents()
  const run = toLetters(randomInt(2 ** 40))
  let made = randomInt(9_000_000)
  const send = (request: Request): Promise<Reply> => sendRequest(url(), agents, { key, ...request })
  const ask: Callers['ask'] = async (question, { key: other, headers = {} } = {}) => {
    const at = recorder.now()
    const { number, phone, idempotencyKey, consent } = question
    const reply = await send({
      path: `/api/v2/kyc/verify-${kind}`,
      key: other ?? key,
      headers: { 'idempotency-key': idempotencyKey, 'x-consent-reference': consent, ...headers },
      body: { [kind]: number, phone, ...toDetails(kind, number), ...(kind === 'bvn' && { amount: '0' }) },
    })
    return { at, question, ...readAnswer(reply, number) }
  }
  return {
    send,
    ask,
    isVerifiedLater: async ({ reference, question }) => {
      const reply = await send({ path: `/api/v2/kyc/verifications/${reference}` })
      const answer = readBody(reply, question.number)
      return isVerified(answer) && answer.reference === reference
    },
    nextQuestion: () => {
      made += 1
      return toQuestion(made, run)
    },
    startLoad: () =>
      startLoad(async () => {
        made += 1
        const answer = await ask(toQuestion(made, run))
        const { at, ms, status, code } = answer
        recorder.sample({ at, ms, status, code })
        return answer
      }),
    close: agents.close,
  }
}

/**
 * A number in a range that no person has: those of people do not begin with 000. The simulated vendors know the person, whose phone is
 * 0803 and the last seven digits.
 */
function toQuestion(made: number, run: string): Question {
  const digits = String(made % 10_000_000).padStart(7, '0')
  const word = `rehearsal-${run}-${toLetters(made)}`
  return { number: `0001${digits}`, phone: `0803${digits}`, idempotencyKey: word, consent: word }
}

/** Names and date of birth as the simulated vendors know them. Some vendors are passed over, or compare nothing, without them. */
function toDetails(kind: 'nin' | 'bvn', number: string) {
  const { personal_info: info } = kind === 'nin' ? toNinPerson(number) : toBvnPerson(number)
  const { last_name, date_of_birth } = info
  // Monnify compares the name of a BVN as a whole.
  const first_name = kind === 'nin' ? info.first_name : `${info.first_name} ${info.middle_name}`.trim()
  return { first_name, last_name, date_of_birth: respellDay(date_of_birth, toIsoDay) }
}

/** Without digits: a consent reference must not look like the number of a person. */
const toLetters = (value: number) =>
  value.toString(26).replace(/./g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 26)))

function readAnswer({ status, body, headers, ms }: Reply, number: string): Omit<Answer, 'at' | 'question'> {
  const { code, reference } = readBody({ status, body }, number)
  return { ms, status, code, reference, body, isReplay: headers['idempotent-replayed'] === 'true' }
}

/** What the exercises call verified: an answer that says so in the form of the API. A page of a proxy with 200 is none. */
export const isVerified = ({ code }: Pick<Sample, 'code'>) => code === 'verified'

type Body = {
  readonly success?: unknown
  readonly code?: unknown
  readonly data?: Readonly<Record<string, unknown>>
}

/** The code and the reference of an answer about this number. */
export function readBody(
  { status, body }: Pick<Reply, 'status' | 'body'>,
  number: string,
): { code: string; reference: string | undefined } {
  if (status === 0) return { code: 'no_answer', reference: undefined }
  const parsed = parseBody(body)
  if (parsed === undefined) return { code: 'unreadable', reference: undefined }
  const { request_reference: given } = parsed.data ?? {}
  const reference = typeof given === 'string' && given !== '' ? given : undefined
  if (status === 200) return { code: toVerdict(parsed, reference, number), reference }
  if (status === 401) return { code: 'unauthenticated', reference }
  return { code: typeof parsed.code === 'string' ? parsed.code : 'unknown', reference }
}

function toVerdict({ success, data }: Body, reference: string | undefined, number: string): string {
  const isComplete = success === true && data?.verification_status === 'VERIFIED' && reference !== undefined
  if (!isComplete) return 'not_an_answer_of_tabbat'
  // The key may hide the number.
  const other = [data?.nin_number, data?.bvn_number].find((text) => /^\d{11}$/.test(String(text)))
  return other === undefined || other === number ? 'verified' : 'another_number'
}

/** Undefined if it is no JSON object. */
function parseBody(body: string): Body | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

function startLoad(askOne: () => Promise<Answer>): Load {
  const answers: Answer[] = []
  const underWay = new Set<Promise<void>>()
  let isStopped = false
  const begin = () => {
    if (underWay.size >= MAX_UNDER_WAY) return
    const asked = askOne()
      .then((answer) => void answers.push(answer))
      .finally(() => underWay.delete(asked))
    underWay.add(asked)
  }
  const timer = setInterval(begin, PAUSE_MS)
  begin()
  return {
    answers,
    until: async (isTrue, withinMs) => {
      const end = performance.now() + withinMs
      while (!isTrue(answers)) {
        if (performance.now() > end || isStopped) return false
        await pause(LOOK_MS)
      }
      return true
    },
    stop: async () => {
      isStopped = true
      clearInterval(timer)
      await Promise.all(underWay)
      return answers
    },
  }
}

type Agents = ReturnType<typeof createAgents>

export function createAgents() {
  const http = new nodeHttp.Agent({ keepAlive: true, maxSockets: MAX_UNDER_WAY })
  const https = new (process.getBuiltinModule('node:https').Agent)({
    keepAlive: true,
    maxSockets: MAX_UNDER_WAY,
  })
  return {
    http,
    https,
    close: () => {
      http.destroy()
      https.destroy()
    },
  }
}

/** Never fails: a closed connection is an answer with the status 0. */
export function sendRequest(base: string, agents: Agents, request: Request): Promise<Reply> {
  const { path, key, headers = {}, body } = request
  const { method = body === undefined ? 'GET' : 'POST' } = request
  const startedAt = performance.now()
  const isTls = base.startsWith('https:')
  const { request: open } = isTls ? process.getBuiltinModule('node:https') : nodeHttp
  const { promise, resolve } = Promise.withResolvers<Reply>()
  const end = (reply: Omit<Reply, 'ms'>) =>
    resolve({ ...reply, ms: Math.round(performance.now() - startedAt) })
  const fail = () => end({ status: 0, body: '', headers: {} })
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const sent = open(
    new URL(path, base),
    {
      method,
      agent: isTls ? agents.https : agents.http,
      timeout: TIMEOUT_MS,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(payload !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(payload),
        }),
        ...headers,
      },
    },
    (response) => {
      text(response).then(
        (all) => end({ status: response.statusCode ?? 0, body: all, headers: response.headers }),
        fail,
      )
    },
  )
  sent.on('timeout', () => sent.destroy()).on('error', fail)
  sent.end(payload)
  return promise
}
