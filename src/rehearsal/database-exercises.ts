import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { SQLITE_FILE } from '../database/open-database.ts'
import { countWritable, readPrimary } from '../database/postgres-servers.ts'
import { UserError } from '../errors.ts'
import { type Answer, type Callers, isVerified } from './callers.ts'
import { runCommand } from './command.ts'
import { readOutcomes } from './copied-database.ts'
import { checkRows } from './crash-exercises.ts'
import { type Exercise, startAgain, waitUntil, withCallers } from './exercise.ts'
import { type Recorder, toAnswersText, toTime } from './finding.ts'
import type { PostgresProxy } from './postgres-proxy.ts'
import type { Stage } from './stage.ts'

const onlySqlite = ({ data }: Stage) =>
  data.databaseUrl === undefined ? undefined : 'The copy is on PostgreSQL, which has its own exercises.'
const onlyPostgres = ({ data }: Stage) =>
  data.databaseUrl === undefined ? 'The copy is on SQLite, which has its own exercises.' : undefined

const databaseLocked: Exercise = {
  name: 'database-locked',
  title: 'Another program holds the database',
  about: 'another process holds the write lock of SQLite for some seconds',
  findObstacle: onlySqlite,
  run: (stage, recorder) =>
    rehearseOutage(stage, recorder, 'the database is locked', async () => {
      const holder = new DatabaseSync(join(stage.data.dataDir, SQLITE_FILE), { timeout: 5000 })
      holder.exec('BEGIN IMMEDIATE')
      return async () => {
        holder.exec('ROLLBACK')
        holder.close()
      }
    }),
}

const postgresCut: Exercise = {
  name: 'postgres-cut',
  title: 'PostgreSQL cannot be reached',
  about: 'connections to PostgreSQL are closed, and new ones refused',
  findObstacle: onlyPostgres,
  run: (stage, recorder) =>
    rehearseOutage(stage, recorder, 'PostgreSQL is cut off', async () => {
      stage.proxy?.setConduct('cut')
      return async () => stage.proxy?.setConduct('pass')
    }),
}

const postgresSilent: Exercise = {
  name: 'postgres-silent',
  title: 'PostgreSQL does not answer',
  about: 'connections to PostgreSQL stay open, and nothing passes',
  findObstacle: onlyPostgres,
  run: (stage, recorder) =>
    rehearseOutage(stage, recorder, 'PostgreSQL is silent', async () => {
      stage.proxy?.setConduct('silent')
      return async () => stage.proxy?.setConduct('pass')
    }),
}

const FEW = 8
const CALM_MS = 15_000
/** Refused answers that show that the fault was noticed. */
const REFUSALS = 10
/** The 5 seconds of docs/reliability.md, and a little for a busy machine. */
const BACK_MS = 6500
const WAIT_MS = 60_000

const isRefused = ({ code }: Answer) => code === 'audit_unavailable' || code === 'overloaded'

/** The log cannot be written: callers are refused at once, look-ups go on, and all is well soon after. */
async function rehearseOutage(
  stage: Stage,
  recorder: Recorder,
  label: string,
  begin: () => Promise<() => Promise<unknown>>,
): Promise<void> {
  await withCallers(stage, recorder, async (callers) => {
    const load = callers.startLoad()
    if (!(await load.until((answers) => answers.filter(isVerified).length >= FEW, CALM_MS))) {
      await load.stop()
      recorder.check('verifications work before the fault', toAnswersText(load.answers), false)
      return
    }
    const end = recorder.beginFault(label)
    const from = recorder.now()
    const stop = await begin()
    const noticed = load.until(
      (answers) => answers.some((each) => each.at >= from && isRefused(each)),
      WAIT_MS,
    )
    if (await noticed) recorder.detected(recorder.now() - from)
    const lookUp = await callers.send({ path: '/api/v2/sme-data/list' })
    const ready = await callers.send({ path: '/health/ready?strict' })
    await load.until(
      (answers) => answers.filter((each) => each.at >= from && isRefused(each)).length >= REFUSALS,
      WAIT_MS,
    )
    await stop()
    end()
    const to = recorder.now()
    const isBack = (each: Answer) => each.at >= to && isVerified(each)
    if (await load.until((answers) => answers.some(isBack), WAIT_MS)) recorder.recovered(recorder.now() - to)
    const backMs = load.answers.some(isBack) ? recorder.now() - to : undefined
    await load.until((answers) => answers.filter(isBack).length >= FEW, CALM_MS)
    const answers = await load.stop()
    const during = answers.filter(({ at }) => at >= from && at < to)
    recorder.check(
      `${label}: callers get 503 audit_unavailable, and nobody is told anything else`,
      toAnswersText(during),
      during.some(isRefused) && during.every((each) => isRefused(each) || isVerified(each)),
    )
    recorder.check(`${label}: look-ups of bundles go on`, `status ${lookUp.status}`, lookUp.status === 200)
    recorder.check(
      `${label}: /health/ready?strict says so with 503`,
      `status ${ready.status}`,
      ready.status === 503,
    )
    recorder.check(
      `${label}: verifications work within ${toTime(BACK_MS)} after the end, without a restart`,
      backMs === undefined ? `not within ${toTime(WAIT_MS)}` : `after ${toTime(backMs)}`,
      backMs !== undefined && backMs <= BACK_MS,
    )
    await checkAcknowledged(stage, recorder, answers)
  })
}

async function checkAcknowledged(
  { data }: Stage,
  recorder: Recorder,
  answers: readonly Answer[],
): Promise<void> {
  const consents = answers.map(({ question }) => question.consent)
  checkRows(recorder, answers, await readOutcomes(data, consents))
}

/** The write-ahead log reaches this size after some dozen verifications. */
const MAX_FILE_BYTES = 2 * 1024 * 1024

const diskFailing: Exercise = {
  name: 'disk-failing',
  title: 'The disk refuses to write',
  about: 'the server may not write files beyond 2 MB (ulimit -f), so its writes fail',
  findObstacle: (stage) =>
    process.platform === 'win32' ? 'Windows has no limit of file sizes for a process.' : onlySqlite(stage),
  run: async (stage, recorder) => {
    await (await stage.server()).stop()
    await stage.server({ maxFileBytes: MAX_FILE_BYTES })
    await withCallers(stage, recorder, (callers) => rehearseDisk(stage, callers, recorder))
    recorder.note(
      'It shows failing writes, after which the server exits. A full disk, which it survives with 503, needs a disk of its own and is not rehearsed.',
    )
  },
}

async function rehearseDisk(stage: Stage, callers: Callers, recorder: Recorder): Promise<void> {
  const server = await stage.server()
  const load = callers.startLoad()
  const end = recorder.beginFault('writes beyond 2 MB fail')
  const isEnded = (await waitUntil(() => !server.isRunning(), WAIT_MS)) !== undefined
  end()
  const from = recorder.now()
  const code = isEnded ? await server.ended : undefined
  const refused = load.answers.find((answer) => !isVerified(answer))
  if (refused && isEnded) recorder.detected(from - refused.at)
  if (!isEnded) await server.stop()
  recorder.check(
    'the server stops when a write fails, with exit code 1',
    isEnded ? `exit code ${code}` : `it still runs after ${toTime(WAIT_MS)}`,
    isEnded && code === 1,
  )
  const reason = server.log.find(({ event }) => event === 'disk_failed')
  recorder.check(
    'its log names the reason: disk_failed',
    reason ? 'disk_failed' : 'it does not',
    reason !== undefined,
  )
  const expected = 'started again on a disk that works, it verifies'
  if (!(await startAgain(stage, recorder, expected))) return void (await load.stop())
  const isBack = (each: Answer) => each.at >= from && isVerified(each)
  if (await load.until((all) => all.some(isBack), WAIT_MS)) recorder.recovered(recorder.now() - from)
  const answers = await load.stop()
  recorder.check(
    expected,
    answers.some(isBack) ? 'it does' : toAnswersText(answers.filter(({ at }) => at >= from)),
    answers.some(isBack),
  )
  await checkAcknowledged(stage, recorder, answers)
}

const failover: Exercise = {
  name: 'failover',
  title: 'Another server of PostgreSQL takes over',
  about:
    'runs --failover-command; without one, cuts the server in use if the address of the copy names several',
  findObstacle: (stage) => {
    if (stage.proxy === undefined) return onlyPostgres(stage)
    return stage.failoverCommand !== undefined || stage.proxy.servers > 1
      ? undefined
      : 'The address of the copy names one server. Name several, or give --failover-command.'
  },
  run: (stage, recorder) =>
    withCallers(stage, recorder, async (callers) => {
      const answers = await rehearseFailover(callers, recorder, toFailover(stage))
      if (answers) await checkAcknowledged(stage, recorder, answers)
    }),
}

/** What is done, and how one sees afterwards that it happened. */
type Failover = {
  readonly run: () => Promise<void>
  /** Reads what is compared. Without it, only answers that fail show something. */
  readonly readPrimary?: () => Promise<string | undefined>
}

function toFailover({ proxy, failoverCommand, data: { databaseUrl = '' } }: Stage): Failover {
  if (failoverCommand !== undefined)
    return { run: () => runCommand(failoverCommand), readPrimary: () => readPrimary(databaseUrl) }
  let cuts = 0
  return {
    run: async () => {
      await cutServer(proxy, databaseUrl)
      cuts += 1
    },
    // The proxy itself has cut it.
    readPrimary: async () => `after ${cuts} cuts`,
  }
}

/** A restart of a cut server is not waited for: the others must do. */
const CUT_MS = 10_000

/** Nobody promotes a standby because we are cut off: another server must be writable by itself, such as a second proxy. */
async function cutServer(proxy: PostgresProxy | undefined, databaseUrl: string): Promise<void> {
  if ((await countWritable(databaseUrl)) < 2)
    throw new UserError(
      'Only one server of the address can be written. Give --failover-command with the command that makes another the primary.',
    )
  const restore = proxy?.cutServerInUse()
  await pause(CUT_MS)
  restore?.()
}

/** Returns the answers; undefined if verifications did not work before. */
export async function rehearseFailover(
  callers: Callers,
  recorder: Recorder,
  { run: failOver, readPrimary: read = async () => undefined }: Failover,
): Promise<readonly Answer[] | undefined> {
  const load = callers.startLoad()
  if (!(await load.until((answers) => answers.filter(isVerified).length >= FEW, CALM_MS))) {
    await load.stop()
    recorder.check('verifications work before the failover', toAnswersText(load.answers), false)
    return undefined
  }
  try {
    const before = await read()
    const from = recorder.now()
    const end = recorder.beginFault('failover')
    await failOver()
    end()
    await pause(FAILOVER_CALM_MS)
    const isBack = (answers: readonly Answer[]) => answers.slice(-FEW).every(isVerified)
    const isFine = await load.until(isBack, WAIT_MS)
    const after = await read()
    checkFailover(recorder, { answers: await load.stop(), from, isFine, before, after })
  } finally {
    await load.stop()
  }
  return load.answers
}

type FailoverSeen = {
  readonly answers: readonly Answer[]
  /** When the failover began. */
  readonly from: number
  /** Whether the last answers are verified. */
  readonly isFine: boolean
  /** The primary before and after it; undefined if that cannot be read. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Throws if nothing shows that something was replaced: then the exercise says nothing about the service. */
export function checkFailover(
  recorder: Pick<Recorder, 'check' | 'detected' | 'recovered'>,
  { answers, from, isFine, before, after }: FailoverSeen,
): void {
  const failed = answers.filter((answer) => answer.at + answer.ms >= from && !isVerified(answer))
  const isUnseen = before === undefined || after === undefined
  if (failed.length === 0 && isUnseen)
    throw new UserError(
      'The command ended, and no answer failed: nothing was seen of a failover. Check what the command does.',
    )
  if (failed.length === 0 && before === after)
    throw new UserError('The command ended, but the same server is the primary. Check what the command does.')
  const outageMs =
    failed.length === 0 ? 0 : Math.max(...failed.map(({ at, ms }) => at + ms)) - (failed[0]?.at ?? 0)
  if (failed[0]) recorder.detected(Math.max(0, failed[0].at - from))
  recorder.recovered(outageMs)
  recorder.check(
    `verifications work again within ${toTime(WAIT_MS)}, without a restart`,
    isFine ? `${failed.length} were refused, over ${toTime(outageMs)}` : toAnswersText(answers.slice(-FEW)),
    isFine,
  )
}

const FAILOVER_CALM_MS = 3000

export const DATABASE_EXERCISES: readonly Exercise[] = [
  databaseLocked,
  postgresCut,
  postgresSilent,
  diskFailing,
  failover,
]
