import { type Answer, type Callers, isVerified } from './callers.ts'
import { runCommand } from './command.ts'
import { checkRepeats, repeatAll } from './crash-exercises.ts'
import { rehearseFailover } from './database-exercises.ts'
import { type Exercise, waitUntil, withCallers } from './exercise.ts'
import { type Recorder, toAnswersText, toTime } from './finding.ts'
import type { Stage } from './stage.ts'

/** A server of the operator, asked from outside with a test key: its answers come from the sandbox. */
type Staging = Pick<Stage, 'url' | 'key' | 'kind' | 'failoverCommand' | 'origin' | 'notes'>

const ANSWERS = 30
const ANSWERS_MS = 20_000
/** Of the slowest sandbox answer, which asks nobody. */
const SLOW_MS = 2000

const answers: Exercise<Staging> = {
  name: 'answers',
  title: 'The server answers',
  about: 'verifications of synthetic people',
  run: (staging, recorder) =>
    withCallers(staging, recorder, async (callers) => {
      const load = callers.startLoad()
      await load.until((all) => all.length >= ANSWERS, ANSWERS_MS)
      const all = await load.stop()
      checkStaging(recorder, all)
    }),
}

/** Every question has an answer of its own. */
export function checkStaging(recorder: Pick<Recorder, 'check'>, all: readonly Answer[]): void {
  recorder.check(
    'every verification is verified',
    toAnswersText(all),
    all.length > 0 && all.every(isVerified),
  )
  const references = countReferences(all)
  recorder.check(
    'each has a reference of its own',
    `${references} references of ${all.length} answers`,
    references === all.length,
  )
  const slowest = Math.max(0, ...all.map(({ ms }) => ms))
  recorder.check(`each within ${toTime(SLOW_MS)}`, `the slowest took ${toTime(slowest)}`, slowest <= SLOW_MS)
}

const countReferences = (answers: readonly Answer[]) =>
  new Set(answers.flatMap(({ reference }) => reference ?? [])).size

/** The numbers of the sandbox, and what each must get. */
const SCENARIOS = {
  '00000000422': { status: 422, code: 'not_verified' },
  '00000000429': { status: 429, code: 'rate_limited' },
  '00000000502': { status: 502, code: 'source_bad_response' },
  '00000000503': { status: 503, code: 'source_unavailable' },
  '00000000504': { status: 504, code: 'source_timeout' },
} as const

const sandboxFaults: Exercise<Staging> = {
  name: 'sandbox-faults',
  title: 'Vendors fail, as the sandbox plays it',
  about: 'the numbers of the sandbox that stand for failures, through your proxy',
  run: (staging, recorder) =>
    withCallers(staging, recorder, async (callers) => {
      for (const [number, expected] of Object.entries(SCENARIOS)) {
        const answer = await callers.ask({ ...callers.nextQuestion(), number })
        recorder.sample(answer)
        recorder.check(
          `${number} gets ${expected.status} ${expected.code}`,
          `${answer.status} ${answer.code}`,
          answer.status === expected.status && answer.code === expected.code,
        )
      }
    }),
}

const wrongKey: Exercise<Staging> = {
  name: 'wrong-key',
  title: 'A wrong key is refused',
  about: 'a key with one wrong character',
  run: (staging, recorder) =>
    withCallers(staging, recorder, async (callers) => {
      const { key } = staging
      const wrong = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`
      const { status, body } = await callers.ask(callers.nextQuestion(), { key: wrong })
      recorder.check('it gets 401', `status ${status}`, status === 401)
      const isPlain = body.trim() === '{"message":"Unauthenticated."}'
      recorder.check('the answer says nothing else', isPlain ? 'it does not' : 'it does', isPlain)
    }),
}

const TIMES = 5

const idempotency: Exercise<Staging> = {
  name: 'idempotency',
  title: 'A request is sent several times',
  about: 'one Idempotency-Key, sent at the same time and again',
  run: (staging, recorder) =>
    withCallers(staging, recorder, async (callers) => {
      const question = callers.nextQuestion()
      const first = await Promise.all(Array.from({ length: TIMES }, () => callers.ask(question)))
      const again = await callers.ask(question)
      checkIdempotency(recorder, first, again)
    }),
}

/** `first`: sent at the same time. `again`: sent after them. */
export function checkIdempotency(
  recorder: Pick<Recorder, 'check'>,
  first: readonly Answer[],
  again: Answer,
): void {
  const all = [...first, again]
  recorder.check(
    'all answers are 200, or 409 while the first is in progress',
    toAnswersText(all),
    isVerified(again) && first.every((answer) => isVerified(answer) || answer.status === 409),
  )
  const references = countReferences(all.filter(isVerified))
  recorder.check('they are one verification', `${references} references`, references === 1)
}

const PENDING_MS = 60_000

const pending: Exercise<Staging> = {
  name: 'pending',
  title: 'An answer comes later',
  about: 'a number of the sandbox that is pending, then verified',
  run: (staging, recorder) => withCallers(staging, recorder, (callers) => rehearsePending(callers, recorder)),
}

async function rehearsePending(callers: Callers, recorder: Recorder): Promise<void> {
  const question = { ...callers.nextQuestion(), number: '00000000202' }
  const asked = await callers.ask(question, { headers: { prefer: 'respond-async' } })
  const isAccepted = asked.status === 202 && asked.reference !== undefined
  recorder.check('it gets 202 pending', `${asked.status} ${asked.code}`, isAccepted)
  if (!isAccepted) return
  const tookMs = await waitUntil(() => callers.isVerifiedLater(asked), PENDING_MS)
  if (tookMs !== undefined) recorder.recovered(tookMs)
  recorder.check(
    'and is verified later',
    tookMs === undefined ? `not within ${toTime(PENDING_MS)}` : `after ${toTime(tookMs)}`,
    tookMs !== undefined,
  )
}

const failover: Exercise<Staging> = {
  name: 'failover',
  title: 'A part of the installation is replaced',
  about: 'runs --failover-command while verifications run, then sends every Idempotency-Key again',
  findObstacle: ({ failoverCommand }) =>
    failoverCommand === undefined
      ? 'Give --failover-command with a command that stops a node, or makes another server of PostgreSQL the primary.'
      : undefined,
  run: (staging, recorder) =>
    withCallers(staging, recorder, async (callers) => {
      const run = () => runCommand(staging.failoverCommand ?? '')
      const all = await rehearseFailover(callers, recorder, { run })
      if (!all) return
      checkRepeats(
        recorder,
        all,
        await repeatAll(
          callers,
          all.map(({ question }) => question),
        ),
      )
    }),
}

export const STAGING_EXERCISES: readonly Exercise<Staging>[] = [
  answers,
  sandboxFaults,
  wrongKey,
  idempotency,
  pending,
  failover,
]
