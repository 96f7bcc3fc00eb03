import type { AuditEntry } from '../audit/row.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Log } from '../telemetry/log.ts'
import { startPoll } from '../webhooks/delivery.ts'
import { type Channel, openChannels, toProblemText } from './channels.ts'
import { type IncidentState, type NoticeKind, stepIncident } from './incident-rules.ts'
import type { DueNotice, IncidentTable } from './incident-table.ts'
import { toMessage, toTestMessage } from './message.ts'
import type { SeenFinding } from './node-findings.ts'
import { type NoticeConfig, toQuietHours } from './settings.ts'

/** Tells people of incidents. */
export type Notices = {
  readonly channels: readonly Channel[]
  /** Begins to look for incidents and to send what is due: in one process of each node. */
  readonly start: (look: Look) => void
  /** Seconds until the next test is allowed. 0: this call counts as one. */
  readonly takeTest: () => number
  readonly deleteExpired: () => Promise<number>
  readonly close: () => Promise<void>
}

/** What the health checks of this node find: the checks that were made, and what is not fine. */
type Look = () => Promise<{ readonly checks: readonly string[]; readonly findings: readonly SeenFinding[] }>

type NoticesOptions = {
  readonly table: IncidentTable
  readonly config: NoticeConfig
  readonly log: Pick<Log, 'event' | 'failure'>
  /** The name of this node. */
  readonly node: string
}

const LOOK_MS = 15_000
const SEND_POLL_MS = 5000
const TEST_PAUSE_MS = 10_000
/** How long incidents that have ended are kept. */
const KEPT_MS = 90 * DAY_MS
/** At shutdown: for how long a message that is being sent may take. */
const GRACE_MS = 2000

export function openNotices(options: NoticesOptions): Notices {
  const { table, config } = options
  const channels = openChannels(config)
  const ending = new AbortController()
  const storeWatch = createStoreWatch({ ...options, channels, signal: ending.signal })
  const polls: ReturnType<typeof startPoll>[] = []
  let testedAt = Number.NEGATIVE_INFINITY
  return {
    channels,
    start: (look) => {
      polls.push(startPoll(createPass({ ...options, channels, storeWatch, look }), LOOK_MS))
      for (const channel of channels)
        polls.push(startPoll(createSend({ ...options, channel, signal: ending.signal }), SEND_POLL_MS))
    },
    takeTest: () => {
      const leftMs = testedAt + TEST_PAUSE_MS - performance.now()
      if (leftMs > 0) return Math.ceil(leftMs / 1000)
      testedAt = performance.now()
      return 0
    },
    deleteExpired: () => table.deleteExpired(KEPT_MS, steadyNow()),
    close: async () => {
      const grace = setTimeout(() => ending.abort(), GRACE_MS)
      await Promise.all(polls.map((poll) => poll.close()))
      clearTimeout(grace)
      ending.abort()
      await storeWatch.settled()
      await Promise.all(channels.map((channel) => channel.close()))
    },
  }
}

type PassOptions = NoticesOptions & {
  readonly channels: readonly Channel[]
  readonly storeWatch: StoreWatch
  readonly look: Look
  readonly now?: () => number
}

/** One look at the health of this node: the database decides what is told, or this node alone if the database is away. */
export function createPass(options: PassOptions): () => Promise<void> {
  const { table, config, log, node, channels, storeWatch, look, now = steadyNow } = options
  const names = channels.map(({ name }) => name)
  const quiet = toQuietHours(config)
  return async () => {
    const { checks, findings } = await look()
    try {
      const changes = await table.report({ node, checks, findings, channels: names, quiet }, now())
      for (const { kind, name, scope, level } of changes)
        log.event(kind === 'ended' ? 'info' : 'warn', `incident_${kind}`, { name, scope, severity: level })
      await storeWatch.step(undefined, now())
    } catch (error) {
      if (!storeWatch.isAway()) log.failure(error)
      await storeWatch.step(toStoreText(findings), now())
    }
  }
}

/** What this node knows of the reason. */
function toStoreText(findings: readonly SeenFinding[]): string {
  const reasons = findings.filter(({ level, scope }) => level === 'critical' && scope !== '')
  return [
    'This node cannot write its database, so its verifications get 503.',
    ...reasons.map(({ text }) => text),
  ].join(' ')
}

type StoreWatch = {
  /** `text`: why the database cannot be written; undefined: it can. */
  readonly step: (text: string | undefined, now: number) => Promise<void>
  readonly isAway: () => boolean
  /** Resolves when nothing is being sent. */
  readonly settled: () => Promise<void>
}

type StoreWatchOptions = NoticesOptions & {
  readonly channels: readonly Channel[]
  readonly signal: AbortSignal
  readonly delaysMs?: readonly number[]
}

const STORE_INCIDENT = 'database'

/**
 * The one incident that cannot be kept in the database: that it is away. Each node keeps its own in memory, and tells it. When it has
 * ended, the database has it, with what was not sent yet.
 */
export function createStoreWatch(options: StoreWatchOptions): StoreWatch {
  const { table, node, channels, log } = options
  let open: IncidentState | undefined
  let before: { endedAt: number; repeats: number } | undefined
  const senders = channels.map((channel) => createMemorySender(channel, options))
  const toDue = (kind: NoticeKind, incident: IncidentState): DueNotice => ({
    kind,
    level: 'critical',
    incident: { ...incident, id: `${node} ${incident.beganAt}`, name: STORE_INCIDENT, scope: node },
  })
  const finish = async (incident: IncidentState, endedAt: number, now: number) => {
    before = { endedAt, repeats: incident.repeats }
    const notices = senders.flatMap(({ channel, isSent }) => [
      { channel, kind: 'began' as const, state: isSent() ? ('sent' as const) : ('waiting' as const) },
      { channel, kind: 'ended' as const, state: 'waiting' as const },
    ])
    try {
      await table.insertEnded({ ...incident, name: STORE_INCIDENT, scope: node }, notices, now)
      for (const sender of senders) sender.clear()
    } catch (error) {
      // Away again.
      log.failure(error)
      for (const { send } of senders) send(toDue('ended', incident))
    }
  }
  return {
    step: async (text, now) => {
      const seen = text === undefined ? undefined : ({ level: 'critical', text } as const)
      const { incident, notice } = stepIncident(open, seen, now, before)
      open = incident?.endedAt === undefined ? incident : undefined
      if (!incident || !notice) return
      const level = notice === 'ended' ? 'info' : 'warn'
      log.event(level, `incident_${notice}`, { name: STORE_INCIDENT, scope: node, severity: 'critical' })
      if (incident.endedAt !== undefined) await finish(incident, incident.endedAt, now)
      else for (const { send } of senders) send(toDue(notice, incident))
    },
    isAway: () => open !== undefined && open.clearedAt === undefined,
    settled: async () => void (await Promise.all(senders.map((sender) => sender.settled()))),
  }
}

/** Sends from memory, and repeats until it is sent or the process ends. What comes meanwhile goes with the next attempt. */
function createMemorySender(channel: Channel, options: StoreWatchOptions) {
  const { config, signal, delaysMs = DELAYS_MS, log } = options
  let waiting: DueNotice[] = []
  let running: Promise<void> | undefined
  const run = async () => {
    for (let tries = 0; waiting.length > 0 && !signal.aborted; tries++) {
      const sent = [...waiting]
      const { isSent, problem, retryAfterMs = 0 } = await channel.send(toNoticeMessage(sent, config), signal)
      if (isSent) waiting = waiting.filter((notice) => !sent.includes(notice))
      else {
        log.event('warn', 'notice_failed', { channel: channel.name, problem: problem ?? '' })
        await pauseFor(Math.max(toDelayMs(tries, delaysMs), retryAfterMs), signal)
      }
    }
  }
  return {
    channel: channel.name,
    send: (notice: DueNotice) => {
      waiting.push(notice)
      running ??= run()
        .catch(log.failure)
        .finally(() => {
          running = undefined
        })
    },
    isSent: () => waiting.length === 0,
    /** What waits is sent by others. */
    clear: () => {
      waiting = []
    },
    settled: async () => running,
  }
}

const toNoticeMessage = (due: readonly DueNotice[], { noticesZone, noticesConsole }: NoticeConfig) =>
  toMessage(due, { zone: noticesZone, consoleUrl: noticesConsole })

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms).unref()
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}

/** The waits after each failed attempt; the last one repeats. */
const DELAYS_MS = [30_000, MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS]
const JITTER = 0.1

const toDelayMs = (tries: number, delaysMs: readonly number[] = DELAYS_MS) =>
  Math.round((delaysMs[Math.min(tries, delaysMs.length - 1)] ?? 0) * (1 + JITTER * Math.random()))

/** Longer than an attempt and its settlement. A process that dies delays its message by this much. */
const LEASE_MS = 2 * MINUTE_MS
/** A notice that could not be sent for this long is not sent any more. */
const GIVE_UP_MS = 2 * DAY_MS

type SendOptions = Pick<NoticesOptions, 'table' | 'config' | 'log'> & {
  readonly channel: Channel
  readonly signal: AbortSignal
  readonly now?: () => number
}

/** Sends what is due in a channel as one message. Of all processes, one at a time does so. */
export function createSend(options: SendOptions): () => Promise<void> {
  const { table, config, log, channel, signal, now = steadyNow } = options
  const { name } = channel
  /** Whether a message was sent, and there may be more to send. */
  const sendNext = async (): Promise<boolean> => {
    const claimed = await table.claim({ channel: name, leaseMs: LEASE_MS }, now())
    if (!claimed) return false
    const {
      isSent,
      problem,
      retryAfterMs = 0,
    } = await channel.send(toNoticeMessage(claimed.notices, config), signal)
    // Broken off by the shutdown, which is no failure of the channel.
    if (!isSent && signal.aborted) {
      await table.release(name, claimed)
      return false
    }
    const retryInMs = Math.max(toDelayMs(claimed.tries), retryAfterMs)
    await table.settle({ channel: name, claimed, problem, isSent, retryInMs, giveUpMs: GIVE_UP_MS }, now())
    if (problem !== undefined) log.event('warn', 'notice_failed', { channel: name, problem })
    if (isSent) log.event('info', 'notice_sent', { channel: name, notices: claimed.notices.length })
    return isSent
  }
  return async () => {
    while (!signal.aborted && (await sendNext()));
  }
}

type TestDeps = {
  readonly channels: readonly Channel[]
  readonly node: string
  readonly config: NoticeConfig
  /** The row is written first; if that fails, nothing is sent. */
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  readonly table: Pick<IncidentTable, 'noteWorking'>
}

/** Sends a test message to every channel once, from this process. It is not stored and not repeated. A channel that takes it has no failure any more. */
export async function testNotices({ channels, node, config, audit, table }: TestDeps) {
  const detail = channels.map(({ name }) => name).join(', ') || 'no channel'
  await audit.record([{ phase: 'notices_tested', outcome: 'ok', detail }])
  const message = toTestMessage(node, config.noticesConsole)
  return Promise.all(
    channels.map(async ({ name, host, send }) => {
      const startedAt = performance.now()
      const { isSent, problem } = await send(message)
      if (isSent && problem === undefined) await table.noteWorking(name)
      return {
        channel: name,
        host,
        ok: isSent && problem === undefined,
        problem: problem ?? null,
        explanation: problem === undefined ? 'The channel has taken the message.' : toProblemText(problem),
        duration_ms: Math.round(performance.now() - startedAt),
      }
    }),
  )
}
