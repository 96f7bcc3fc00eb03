import { setTimeout as pause } from 'node:timers/promises'
import type { Fault } from '../simulator/faults.ts'
import type { StandIn } from '../simulator/stand-in.ts'
import { type Answer, type Callers, isVerified } from './callers.ts'
import { type Exercise, waitUntil, withCallers } from './exercise.ts'
import { type Recorder, toAnswersText, toTime } from './finding.ts'
import type { Server } from './program.ts'
import { listVendors, type Stage } from './stage.ts'

type VendorFault = Pick<Exercise, 'name' | 'title' | 'about'> & {
  readonly faults: readonly Fault[]
  /** The codes that callers may get when there is no other vendor. */
  readonly alone: readonly string[]
}

/** After the breaker has opened, every source is unavailable. */
const UNAVAILABLE = 'source_unavailable'

const FAULTS: readonly VendorFault[] = [
  {
    name: 'vendor-down',
    title: 'A vendor is down',
    about: 'the first vendor closes every connection',
    faults: ['reset'],
    alone: [UNAVAILABLE],
  },
  {
    name: 'vendor-slow',
    title: 'A vendor does not answer',
    about: 'the first vendor accepts requests and never answers',
    faults: ['slow_headers'],
    alone: ['source_timeout', UNAVAILABLE],
  },
  {
    name: 'vendor-wrong',
    title: 'A vendor answers nonsense',
    about:
      'the first vendor answers with a web page, with an error under status 200, and with another person',
    faults: ['html_with_200', 'error_in_200', 'wrong_person'],
    alone: ['source_bad_response', UNAVAILABLE],
  },
  {
    name: 'vendor-no-funds',
    title: 'An account at a vendor is empty',
    about: 'the first vendor says that there are no funds',
    faults: ['no_funds'],
    alone: [UNAVAILABLE],
  },
]

export const VENDOR_EXERCISES: readonly Exercise[] = FAULTS.map((fault) => ({
  ...fault,
  findObstacle: ({ noVendor }) => noVendor,
  run: (stage, recorder) =>
    withCallers(stage, recorder, async (callers) => {
      for (const each of fault.faults)
        await rehearseFault(stage, callers, recorder, { ...fault, fault: each })
    }),
}))

/** Answers before the fault, which show which vendor is asked. */
const FEW = 8
const CALM_MS = 10_000
/** A single vendor that is silent is noticed after three calls of 8 seconds at once. */
const NOTICE_MS = 20_000
/** How long the fault goes on after it was noticed. */
const LONGER_MS = 1000
/** The first probe comes after about 5 seconds, a failed one doubles the wait. */
const RETURN_MS = 45_000
/** What callers wait for sources, and a little for the rest. */
const MAX_ANSWER_MS = 17_000

async function rehearseFault(
  stage: Stage,
  callers: Callers,
  recorder: Recorder,
  { fault, alone, name }: VendorFault & { readonly fault: Fault },
): Promise<void> {
  // A breaker that has opened before waits longer before it asks the vendor again.
  await (await stage.server()).stop()
  const server = await stage.server()
  const load = callers.startLoad()
  const before = countCalls(stage)
  const isCalm = await load.until((answers) => answers.filter(isVerified).length >= FEW, CALM_MS)
  const first = findFirst(stage, before)
  if (!isCalm || !first) {
    await load.stop()
    recorder.check('verifications work before the fault', toAnswersText(load.answers), false)
    return
  }
  const isAlone = listVendors(stage.config, stage.vendors, stage.kind).length === 1
  const label = `${first.name}: ${fault.replaceAll('_', ' ')}`
  const seen = server.log.length
  first.standIn.fail(fault)
  const end = recorder.beginFault(label)
  const from = recorder.now()
  const noticed = await waitForNotice(server, first.name, seen, NOTICE_MS)
  if (noticed !== undefined) recorder.detected(recorder.now() - from)
  const pending = name === 'vendor-down' && isAlone ? await askPending(callers) : undefined
  await pause(LONGER_MS)
  first.standIn.fail(undefined)
  end()
  const to = recorder.now()
  const backMs = await waitForReturn(server, first, seen)
  if (backMs !== undefined) recorder.recovered(backMs)
  const answers = await load.stop()
  const during = answers.filter(({ at }) => at >= from && at < to)
  recorder.check(
    `${label}: the log says so`,
    noticed === undefined ? `nothing within ${toTime(NOTICE_MS)}` : `${noticed.event}`,
    noticed !== undefined,
  )
  checkAnswers(recorder, label, { during, answers, alone: isAlone ? alone : undefined })
  recorder.check(
    `${label}: the vendor is used again after the fault, within ${toTime(RETURN_MS)}`,
    backMs === undefined ? 'it is not' : `after ${toTime(backMs)}`,
    backMs !== undefined,
  )
  if (pending !== undefined) await checkPending(callers, recorder, pending)
}

type Seen = {
  readonly during: readonly Answer[]
  readonly answers: readonly Answer[]
  /** The codes that are allowed; undefined if another vendor must answer. */
  readonly alone: readonly string[] | undefined
}

export function checkAnswers(
  recorder: Pick<Recorder, 'check'>,
  label: string,
  { during, answers, alone }: Seen,
): void {
  recorder.check(
    alone === undefined
      ? `${label}: another vendor answers, and every verification is verified`
      : `${label}: callers get ${alone.map(toStatusText).join(' or ')}, and never "not verified"`,
    toAnswersText(during),
    during.length > 0 && during.every((answer) => isVerified(answer) || (alone ?? []).includes(answer.code)),
  )
  const wrong = answers.filter((answer) => answer.status === 200 && !isAboutQuestion(answer))
  recorder.check(
    `${label}: every record is about the number and the phone that were asked`,
    wrong.length === 0 ? 'each is' : `${wrong.length} are not`,
    wrong.length === 0,
  )
  const slowest = Math.max(0, ...answers.map(({ ms }) => ms))
  recorder.check(
    `${label}: no caller waits longer than ${toTime(MAX_ANSWER_MS)}`,
    `the slowest answer took ${toTime(slowest)}`,
    slowest <= MAX_ANSWER_MS,
  )
}

/** The key of the rehearsal hides neither. */
const isAboutQuestion = ({ body, question }: Answer) =>
  body.includes(question.number) && body.includes(question.phone)

const STATUSES: Readonly<Record<string, number>> = { source_timeout: 504, source_bad_response: 502 }
const toStatusText = (code: string) => `${STATUSES[code] ?? 503} ${code}`

const countCalls = ({ vendors }: Stage) =>
  new Map([...vendors].map(([name, standIn]) => [name, standIn.count()]))

type First = { readonly name: string; readonly standIn: StandIn }

/** The vendor that got the most calls since then. */
function findFirst({ vendors }: Stage, before: ReadonlyMap<string, number>): First | undefined {
  const [first] = [...vendors]
    .map(([name, standIn]) => ({ name, standIn, calls: standIn.count() - (before.get(name) ?? 0) }))
    .toSorted((a, b) => b.calls - a.calls)
  return first && first.calls > 0 ? first : undefined
}

const NOTICES = ['source_breaker', 'source_warning', 'source.down']

/** A line of the log about this vendor that was written after the first `seen` lines. */
const waitForNotice = (server: Server, source: string, seen: number, withinMs: number) =>
  server.waitForLog((line) => line.source === source && NOTICES.includes(String(line.event)), withinMs, seen)

/** The vendor gets calls again and, if its breaker was open, three probes in a row have closed it. */
function waitForReturn({ log }: Server, { name, standIn }: First, seen: number): Promise<number | undefined> {
  const calls = standIn.count()
  const findState = () =>
    log
      .slice(seen)
      .filter(({ event, source }) => event === 'source_breaker' && source === name)
      .at(-1)?.state ?? 'closed'
  return waitUntil(() => standIn.count() > calls && findState() === 'closed', RETURN_MS)
}

async function askPending(callers: Callers): Promise<Answer> {
  return callers.ask(callers.nextQuestion(), { headers: { prefer: 'respond-async' } })
}

const PENDING_MS = 90_000

/** What was accepted while the vendor was down is answered when it is back. */
async function checkPending(callers: Callers, recorder: Recorder, pending: Answer): Promise<void> {
  recorder.check(
    'a caller that prefers to wait gets 202 pending',
    `${pending.status} ${pending.code}`,
    pending.status === 202 && pending.reference !== undefined,
  )
  if (pending.reference === undefined) return
  const tookMs = await waitUntil(() => callers.isVerifiedLater(pending), PENDING_MS)
  recorder.check(
    'it is verified when the vendor is back',
    tookMs === undefined ? `not within ${toTime(PENDING_MS)}` : `after ${toTime(tookMs)}`,
    tookMs !== undefined,
  )
}
