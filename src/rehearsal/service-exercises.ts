import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Callers, isVerified } from './callers.ts'
import { type DeliveryRow, readDeliveries } from './copied-database.ts'
import { type Exercise, waitUntil, withCallers } from './exercise.ts'
import { type Recorder, toAnswersText, toTime } from './finding.ts'
import { isSigned, type Received } from './receiver.ts'
import type { Stage } from './stage.ts'

/** Promised by docs/keys.md. */
const REFUSED_MS = 1000
const ASKED_MS = 3000
const PAUSE_MS = 50

const revokedKey: Exercise = {
  name: 'revoked-key',
  title: 'A key is revoked',
  about: 'a key is revoked with tabbat keys revoke while it is in use',
  run: (stage, recorder) =>
    withCallers(stage, recorder, async (callers) => {
      const mode = stage.noVendor === undefined ? 'live' : 'test'
      const { key, id } = (await stage.runJson(
        ...['keys', 'create', '--name', 'rehearsal-revoked', '--mode', mode, '--subjects-per-day', '1000000'],
      )) as { key: string; id: string }
      const load = startWith(callers, recorder, key)
      await waitUntil(() => load.answers.some(isVerified), ASKED_MS)
      const end = recorder.beginFault('revoked')
      const revokedAt = await revoke(stage, recorder, id)
      await pause(ASKED_MS)
      const answers = await load.stop()
      end()
      checkRevoked(recorder, answers, revokedAt)
    }),
}

/** When the command had ended: the promise begins there. */
async function revoke(stage: Stage, recorder: Recorder, id: string): Promise<number> {
  await stage.runJson('keys', 'revoke', id)
  return recorder.now()
}

/** The key worked before, and no answer that was asked for a second after its end was given. */
export function checkRevoked(
  recorder: Pick<Recorder, 'check' | 'detected'>,
  answers: readonly Answer[],
  revokedAt: number,
): void {
  const before = answers.filter(({ at, ms }) => at + ms < revokedAt)
  const after = answers.filter(({ at }) => at >= revokedAt + REFUSED_MS)
  const lastAccepted = answers.filter(({ status }) => status !== 401).at(-1)
  if (lastAccepted) recorder.detected(Math.max(0, lastAccepted.at - revokedAt))
  recorder.check('the key works before it is revoked', toAnswersText(before), before.some(isVerified))
  recorder.check(
    `it gets 401 from ${toTime(REFUSED_MS)} after the command on`,
    toAnswersText(after),
    after.length > 0 && after.every(({ status }) => status === 401),
  )
}

function startWith(callers: Callers, recorder: Recorder, key: string) {
  const answers: Answer[] = []
  let isStopped = false
  const askOn = async () => {
    while (!isStopped) {
      const answer = await callers.ask(callers.nextQuestion(), { key })
      const { at, ms, status, code } = answer
      recorder.sample({ at, ms, status, code })
      answers.push(answer)
      await pause(PAUSE_MS)
    }
  }
  const asking = askOn()
  return {
    answers,
    stop: async () => {
      isStopped = true
      await asking
      return answers
    },
  }
}

const PENDING = 6
/** Commands that change something sign a checkpoint, which is an event: all checkpoints have one reference. */
const COMMANDS = 3
const ATTEMPT_MS = 30_000
const DOWN_MS = 2500
const DELIVERED_MS = 90_000
/** The second attempt comes 4.5 to 5.5 seconds after the first, and the third 4.5 to 5.5 minutes after it. */
const SECOND_ATTEMPT_MS = 4000
const THIRD_ATTEMPT_MS = 330_000

const webhooks: Exercise = {
  name: 'webhooks',
  title: 'A receiver of webhooks is down',
  about: 'the receiver closes every connection, then comes back',
  run: (stage, recorder) =>
    withCallers(stage, recorder, async (callers) => {
      const { receiver, endpoint, data } = stage
      const before = receiver.refused()
      receiver.setDown(true)
      const end = recorder.beginFault('the receiver is down')
      const from = recorder.now()
      const making = Promise.all([askPending(stage, callers, recorder), signCheckpoints(stage)])
      // It may fail while something else is waited for, and is awaited below.
      making.catch(() => {})
      const isTried = await waitUntil(() => receiver.refused() > before, ATTEMPT_MS)
      const triedAt = recorder.now()
      if (isTried !== undefined) recorder.detected(triedAt - from)
      // The checkpoints wait for each other. Without them, there is no order to see.
      const [[accepted]] = await Promise.all([making, pause(DOWN_MS)])
      const waiting = (await readDeliveries(data, endpoint.id)).filter(({ state }) => state === 'pending')
      receiver.setDown(false)
      end()
      const to = recorder.now()
      const isLate = to - triedAt > SECOND_ATTEMPT_MS
      const tookMs = await waitUntil(
        async () => {
          const rows = await readDeliveries(data, endpoint.id)
          const done = rows.filter(
            ({ state, reference }) => state === 'delivered' && accepted.includes(reference),
          )
          return done.length >= accepted.length && rows.every(({ state }) => state !== 'pending')
        },
        DELIVERED_MS + (isLate ? THIRD_ATTEMPT_MS : 0),
      )
      if (tookMs !== undefined) recorder.recovered(recorder.now() - to)
      recorder.check(
        'events are tried while the receiver is down',
        `${receiver.refused() - before} attempts found it down`,
        isTried !== undefined,
      )
      const { received } = receiver
      checkArrival(recorder, accepted, await readDeliveries(data, endpoint.id), received)
      checkOrder(recorder, waiting, received)
      const unsigned = receiver.received.filter((each) => !isSigned(each, endpoint.secret))
      recorder.check(
        'every delivery is signed with the secret of the endpoint',
        unsigned.length === 0 ? 'each is' : `${unsigned.length} are not`,
        unsigned.length === 0,
      )
    }),
}

/** Verifications that are answered later: each ends with an event. Returns their references. */
async function askPending({ noVendor }: Stage, callers: Callers, recorder: Recorder): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: PENDING }, () => {
      const question = callers.nextQuestion()
      // With a test key, this number is pending and then verified.
      const asked = noVendor === undefined ? question : { ...question, number: '00000000202' }
      return callers.ask(asked, { headers: { prefer: 'respond-async' } })
    }),
  )
  const accepted = answers.flatMap(({ status, reference }) =>
    status === 202 && reference !== undefined ? [reference] : [],
  )
  recorder.check(
    'verifications with Prefer: respond-async are accepted',
    toAnswersText(answers),
    accepted.length === PENDING,
  )
  return accepted
}

async function signCheckpoints(stage: Stage): Promise<void> {
  const make = ['keys', 'create', '--name', 'rehearsal-checkpoint', '--mode', 'test', '--expires', '1h']
  await Promise.all(Array.from({ length: COMMANDS }, () => stage.runJson(...make)))
}

/** The position of the first delivery of each event. */
function toFirstArrivals(received: readonly Pick<Received, 'id'>[]): ReadonlyMap<string, number> {
  const firstAt = new Map<string, number>()
  for (const [index, { id }] of received.entries()) if (!firstAt.has(id)) firstAt.set(id, index)
  return firstAt
}

/** `rows`: all events of the endpoint. */
export function checkArrival(
  recorder: Pick<Recorder, 'check'>,
  accepted: readonly string[],
  rows: readonly DeliveryRow[],
  received: readonly Pick<Received, 'id'>[],
): void {
  const firstAt = toFirstArrivals(received)
  const lost = rows.filter(({ id }) => !firstAt.has(id))
  const silent = accepted.filter((reference) => !rows.some((row) => row.reference === reference))
  recorder.check(
    'every event arrives when it is back, none is lost',
    `${rows.length - lost.length} of ${rows.length + silent.length}`,
    rows.length > 0 && lost.length + silent.length === 0,
  )
}

/** `waiting`: the events that waited together, in their order. */
export function checkOrder(
  recorder: Pick<Recorder, 'check'>,
  waiting: readonly DeliveryRow[],
  received: readonly Pick<Received, 'id'>[],
): void {
  const firstAt = toFirstArrivals(received)
  const orders = [...Map.groupBy(waiting, ({ reference }) => reference).values()].map((group) =>
    group.flatMap(({ id }) => firstAt.get(id) ?? []),
  )
  const wrong = orders.filter((order) =>
    order.some((at, index) => index > 0 && at < (order[index - 1] ?? 0)),
  ).length
  const longest = Math.max(0, ...orders.map(({ length }) => length))
  // One event alone is always in order.
  const isShown = longest >= 2
  const seen = isShown
    ? `they do; of one reference ${longest} waited and arrived`
    : 'not shown: no two events of one reference waited and arrived'
  recorder.check(
    'events of one reference arrive in order',
    wrong > 0 ? `those of ${wrong} references do not` : seen,
    wrong === 0 && isShown,
  )
}

export const SERVICE_EXERCISES: readonly Exercise[] = [revokedKey, webhooks]
