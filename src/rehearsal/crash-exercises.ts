import { randomInt } from 'node:crypto'
import { type Answer, type Callers, isVerified, type Question } from './callers.ts'
import { type OutcomeRow, readOutcomes } from './copied-database.ts'
import { type Exercise, startAgain, waitUntil, withCallers } from './exercise.ts'
import { type Recorder, toAnswersText, toTime } from './finding.ts'

/** Callers that ask one question after another. */
const CALLERS = 12
const LEAST_ANSWERS = 30
const ANSWERS_MS = 20_000
const ROUNDS = 2
/** A claim of a process that died is free after 30 seconds on SQLite. */
const CLAIM_MS = 60_000

const kill: Exercise = {
  name: 'kill',
  title: 'The server is killed',
  about: 'kill -9 while verifications run, then every Idempotency-Key is sent again',
  run: (stage, recorder) =>
    withCallers(stage, recorder, async (callers) => {
      const answers: Answer[] = []
      const asked: Question[] = []
      for (let round = 1; round <= ROUNDS; round++) {
        const server = await stage.server()
        const load = startCrowd(callers, recorder, answers, asked)
        await load.until(answers.length + LEAST_ANSWERS + randomInt(LEAST_ANSWERS))
        const end = recorder.beginFault(`kill -9, ${round} of ${ROUNDS}`)
        await server.kill()
        const from = recorder.now()
        await load.stop()
        const expected = `kill ${round}: the server starts again on the same data and verifies`
        if (!(await startAgain(stage, recorder, expected))) return
        const isBack = async () => isVerified(await callers.ask(callers.nextQuestion()))
        const backMs = await waitUntil(isBack, ANSWERS_MS)
        end()
        if (backMs !== undefined) recorder.recovered(recorder.now() - from)
        recorder.check(
          expected,
          backMs === undefined
            ? `not within ${toTime(ANSWERS_MS)}`
            : `after ${toTime(recorder.now() - from)}, start included`,
          backMs !== undefined,
        )
      }
      const repeats = await repeatAll(callers, asked)
      checkRepeats(recorder, answers, repeats)
      checkRows(
        recorder,
        [...answers, ...repeats],
        await readOutcomes(
          stage.data,
          asked.map(({ consent }) => consent),
        ),
      )
    }),
}

export const CRASH_EXERCISES: readonly Exercise[] = [kill]

/** Asks as fast as the answers come, so that a kill meets verifications under way. */
function startCrowd(callers: Callers, recorder: Recorder, answers: Answer[], asked: Question[]) {
  let isStopped = false
  const askOn = async () => {
    while (!isStopped) {
      const question = callers.nextQuestion()
      asked.push(question)
      const answer = await callers.ask(question)
      const { at, ms, status, code } = answer
      recorder.sample({ at, ms, status, code })
      answers.push(answer)
      if (status === 0) return
    }
  }
  const crowd = Array.from({ length: CALLERS }, askOn)
  return {
    until: (count: number) => waitUntil(() => answers.length >= count, ANSWERS_MS),
    stop: async () => {
      isStopped = true
      await Promise.all(crowd)
    },
  }
}

/** Sends each question again until it has an answer other than "in progress". */
export async function repeatAll(callers: Callers, asked: readonly Question[]): Promise<Answer[]> {
  const repeats: Answer[] = []
  for (const question of asked) {
    let answer = await callers.ask(question)
    await waitUntil(async () => {
      if (answer.code !== 'idempotency_in_progress') return true
      answer = await callers.ask(question)
      return false
    }, CLAIM_MS)
    repeats.push(answer)
  }
  return repeats
}

/** Compares what callers got before the kill with what the same Idempotency-Key gets after it. */
export function checkRepeats(
  recorder: Pick<Recorder, 'check'>,
  answers: readonly Answer[],
  repeats: readonly Answer[],
): void {
  const first = new Map(answers.filter(isVerified).map((answer) => [answer.question.idempotencyKey, answer]))
  const known = repeats.filter(({ question }) => first.has(question.idempotencyKey))
  const same = known.filter(
    ({ question, body, status }) =>
      first.get(question.idempotencyKey)?.body === body &&
      first.get(question.idempotencyKey)?.status === status,
  )
  recorder.check(
    'an answered verification, sent again with its Idempotency-Key, gets the same bytes',
    `${same.length} of ${known.length}`,
    known.length > 0 && same.length === known.length,
  )
  const open = repeats.filter(({ question }) => !first.has(question.idempotencyKey))
  recorder.check(
    'one that was cut off, sent again, is verified',
    open.length === 0 ? 'none was cut off' : toAnswersText(open),
    open.every(isVerified),
  )
}

/** Each answer has its row, and each Idempotency-Key one outcome. */
export function checkRows(
  recorder: Pick<Recorder, 'check'>,
  answers: readonly Pick<Answer, 'code' | 'reference' | 'question'>[],
  rows: readonly OutcomeRow[],
): void {
  const acknowledged = new Set(answers.filter(isVerified).map(({ reference }) => reference))
  const verified = rows.filter(({ outcome }) => outcome === 'verified')
  const recorded = new Set(verified.map(({ reference }) => reference))
  const lost = [...acknowledged].filter((reference) => reference === undefined || !recorded.has(reference))
  recorder.check(
    'every acknowledged verification is in the audit log',
    `${acknowledged.size - lost.length} of ${acknowledged.size}${lost.length > 0 ? `; missing: ${lost.slice(0, 3).join(', ')}` : ''}`,
    acknowledged.size > 0 && lost.length === 0,
  )
  const times = Map.groupBy(verified, ({ consent }) => consent)
  const twice = [...times.values()].filter((each) => each.length > 1)
  recorder.check(
    'every Idempotency-Key has one outcome',
    twice.length === 0 ? `${times.size} keys, each with one` : `${twice.length} keys with more than one`,
    times.size > 0 && twice.length === 0,
  )
}
