import { randomBytes } from 'node:crypto'
import { HOUR_MS, MINUTE_MS } from '../contract/time.ts'
import { toByteOrder } from '../database/byte-order.ts'
import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import {
  defineColumns,
  defineTable,
  number,
  optional,
  type Reader,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'
import {
  type IncidentState,
  type Level,
  type NoticeKind,
  type QuietHours,
  type Seen,
  stepIncident,
  toQuietEnd,
} from './incident-rules.ts'
import { type FindingRow, type NodeReport, noteFindings, type SeenFinding, toKey } from './node-findings.ts'
import type { ChannelName } from './settings.ts'

const INCIDENT = defineColumns({
  /** Sorts by the time at which it began. */
  id: text(),
  name: text(),
  scope: text(),
  level: text<Level>(),
  text: text(),
  beganAt: number(),
  criticalAt: optional(number()),
  clearedAt: optional(number()),
  told: optional(text<Level>()),
  endedAt: optional(number()),
  repeats: number(),
})
type IncidentRow = RowOf<typeof INCIDENT>

const NOTICE = defineColumns({
  incidentId: text(),
  channel: text<ChannelName>(),
  kind: text<NoticeKind>(),
  level: text<Level>(),
  createdAt: number(),
  dueAt: number(),
  /** `replaced`: the incident became critical before the warning was sent. */
  state: text<'waiting' | 'sent' | 'failed' | 'replaced'>(),
  finishedAt: optional(number()),
})
type NoticeRow = RowOf<typeof NOTICE>

const CHANNEL = defineColumns({
  channel: text<ChannelName>(),
  claimedUntil: number(),
  retryAt: number(),
  /** Failed attempts since the last success. */
  tries: number(),
  failingSince: optional(number()),
  problem: optional(text()),
  sentAt: optional(number()),
})
export type ChannelRow = RowOf<typeof CHANNEL>

/** A notice with its incident. */
export type DueNotice = { readonly kind: NoticeKind; readonly level: Level; readonly incident: Incident }
export type Incident = Pick<IncidentRow, 'id' | 'name' | 'scope' | 'text' | 'beganAt' | 'endedAt'>

type Report = NodeReport & {
  readonly channels: readonly ChannelName[]
  readonly quiet: QuietHours | undefined
}

/** What this report has changed, for the log. */
type Change = {
  readonly kind: NoticeKind
  readonly name: string
  readonly scope: string
  readonly level: Level
}

type MemoryNotice = Pick<NoticeRow, 'channel' | 'kind' | 'state'>

type Claim = { readonly channel: ChannelName; readonly leaseMs: number }
type Claimed = {
  readonly tries: number
  readonly claimedUntil: number
  readonly notices: readonly DueNotice[]
}

type Settlement = {
  readonly channel: ChannelName
  readonly claimed: Claimed
  /** Undefined: all is well. It may be set although the message was sent, if a recipient was refused. */
  readonly problem: string | undefined
  readonly isSent: boolean
  /** After a failure: the wait before the next attempt. */
  readonly retryInMs: number
  /** Notices that have waited for longer have failed. */
  readonly giveUpMs: number
}

type ListPage = { readonly most: number; readonly before?: string | undefined }

/** An incident and what became of its notices. */
export type IncidentReport = IncidentRow & { readonly notices: readonly NoticeRow[] }

/** Incidents, and what people are told of them. Times are of the clock that all nodes share. */
export const incidentTable = defineTable({
  reads: (database) => {
    const first = database.prepare(toList(database, ''))
    const next = database.prepare(toList(database, `AND ${toByteOrder(database, 'id')} < $2`))
    const notices = database.prepare(
      `SELECT ${NOTICE.names} FROM notices WHERE incident_id = $1 ORDER BY created_at, channel`,
    )
    const channels = database.prepare(`SELECT ${CHANNEL.names} FROM notice_channels ORDER BY channel`)
    return {
      /** Those that people were told of, the newest first. */
      list: async ({ most, before }: ListPage): Promise<IncidentReport[]> =>
        Promise.all(
          (await (before === undefined ? first.all(most) : next.all(most, before))).map(async (row) => {
            const incident = INCIDENT.decode(row)
            return { ...incident, notices: (await notices.all(incident.id)).map(NOTICE.decode) }
          }),
        ),
      listChannels: async () => (await channels.all()).map(CHANNEL.decode),
    }
  },
  writes: (database) => ({
    /**
     * Notes what a node finds, and decides about all incidents. One report at a time does so: of several nodes that see the same, one
     * causes the notices.
     */
    report: (report: Report, now: number): Promise<Change[]> =>
      database.transaction((tx) => writeReport(tx, report, now)),
    /** Notes an incident that a node has told without this table, because the database was away. */
    insertEnded: (incident: Omit<IncidentRow, 'id'>, notices: readonly MemoryNotice[], now: number) =>
      database.transaction((tx) => insertEnded(tx, incident, notices, now)),
    /** What is due in a channel, for this process alone until the lease ends. */
    claim: (claim: Claim, now: number): Promise<Claimed | undefined> =>
      database.transaction((tx) => claimDue(tx, claim, now)),
    /** Gives a claim back: the attempt was not finished. */
    release: async (channel: ChannelName, { claimedUntil }: Claimed) =>
      void (await database
        .prepare('UPDATE notice_channels SET claimed_until = 0 WHERE channel = $1 AND claimed_until = $2')
        .run(channel, claimedUntil)),
    /** Writes the result of an attempt. */
    settle: (settlement: Settlement, now: number) =>
      database.transaction((tx) => settle(tx, settlement, now)),
    /** A test was sent: the channel works, and what waits for its next attempt is sent now. */
    noteWorking: async (channel: ChannelName) =>
      void (await database
        .prepare(
          'UPDATE notice_channels SET retry_at = 0, tries = 0, failing_since = NULL, problem = NULL WHERE channel = $1',
        )
        .run(channel)),
    /** Deletes some of the incidents that ended before this age, with their notices. */
    deleteExpired: (ageMs: number, now: number) => deleteExpired(database, ageMs, now),
  }),
})
export type IncidentTable = TableOf<typeof incidentTable>

const toList = (database: Reader, condition: string) =>
  `SELECT ${INCIDENT.names} FROM incidents WHERE told IS NOT NULL ${condition}
   ORDER BY ${toByteOrder(database, 'id')} DESC LIMIT $1`

async function readNow(tx: Reader, now: number): Promise<number> {
  const row = await tx.prepare(`SELECT ${toSharedNow(tx, 'CAST($1 AS BIGINT)')} AS now`).get(now)
  return Number(row?.now)
}

async function writeReport(tx: Database, report: Report, processNow: number): Promise<Change[]> {
  await tx.lock('incidents')
  const now = await readNow(tx, processNow)
  const seen = await noteFindings(tx, report, now)
  for (const channel of report.channels) await tx.prepare(ADD_CHANNEL).run(channel)
  const open = new Map(
    (await tx.prepare(`SELECT ${INCIDENT.names} FROM incidents WHERE ended_at IS NULL`).all())
      .map(INCIDENT.decode)
      .map((row) => [toKey(row), row]),
  )
  const changes: Change[] = []
  for (const key of new Set([...seen.keys(), ...open.keys()])) {
    const kind = await stepRow(tx, { ...report, now }, open.get(key), seen.get(key))
    const { name, scope } = open.get(key) ?? (seen.get(key) as SeenFinding)
    const level = seen.get(key)?.level ?? open.get(key)?.level ?? 'warning'
    if (kind !== undefined) changes.push({ kind, name, scope, level })
  }
  return changes
}

const ADD_CHANNEL = `INSERT INTO notice_channels (channel, claimed_until, retry_at, tries) VALUES ($1, 0, 0, 0)
  ON CONFLICT (channel) DO NOTHING`

type Deciding = Pick<Report, 'channels' | 'quiet'> & { readonly now: number }

async function stepRow(
  tx: Database,
  deciding: Deciding,
  open: IncidentRow | undefined,
  finding: FindingRow | undefined,
): Promise<NoticeKind | undefined> {
  const { now } = deciding
  const before = open === undefined && finding ? await findLastEnded(tx, finding) : undefined
  const seen: Seen | undefined = finding && { level: finding.level, text: finding.text }
  const { incident, notice } = stepIncident(open, seen, now, before)
  if (incident === undefined) {
    if (open) await tx.prepare('DELETE FROM incidents WHERE id = $1').run(open.id)
    return undefined
  }
  const { name, scope } = open ?? (finding as FindingRow)
  const row: IncidentRow = { ...incident, id: open?.id ?? createId(now), name, scope }
  if (!open || !isSameState(open, row)) await tx.prepare(SAVE).run(...INCIDENT.encode(row))
  if (notice !== undefined) await addNotices(tx, deciding, row, notice)
  return notice
}

const STATE = ['level', 'text', 'beganAt', 'criticalAt', 'clearedAt', 'told', 'endedAt'] as const

const isSameState = (one: IncidentState, other: IncidentState) =>
  STATE.every((column) => one[column] === other[column])

const createId = (at: number) => `inc_${at.toString(36).padStart(9, '0')}${randomBytes(4).toString('hex')}`

const SAVE = `INSERT INTO incidents (${INCIDENT.names}) VALUES (${INCIDENT.places})
  ON CONFLICT (id) DO UPDATE SET level = excluded.level, text = excluded.text, began_at = excluded.began_at, critical_at = excluded.critical_at,
    cleared_at = excluded.cleared_at, told = excluded.told, ended_at = excluded.ended_at`

async function findLastEnded(tx: Database, { name, scope }: FindingRow) {
  const row = await tx
    .prepare(
      `SELECT ended_at, repeats FROM incidents WHERE name = $1 AND scope = $2 AND ended_at IS NOT NULL
       ORDER BY ended_at DESC LIMIT 1`,
    )
    .get(name, scope)
  return row && { endedAt: Number(row.ended_at), repeats: Number(row.repeats) }
}

async function addNotices(
  tx: Database,
  { channels, quiet, now }: Deciding,
  { id, told = 'warning' }: IncidentRow,
  kind: NoticeKind,
): Promise<void> {
  const dueAt = told === 'critical' ? now : (toQuietEnd(quiet, now) ?? now)
  if (kind === 'worse')
    await tx
      .prepare(
        `UPDATE notices SET state = 'replaced', finished_at = $2 WHERE incident_id = $1 AND state = 'waiting'`,
      )
      .run(id, now)
  for (const channel of channels)
    await tx.prepare(ADD_NOTICE).run(
      ...NOTICE.encode({
        ...{ incidentId: id, channel, kind, level: told },
        ...{ createdAt: now, dueAt, state: 'waiting', finishedAt: undefined },
      }),
    )
}

const ADD_NOTICE = `INSERT INTO notices (${NOTICE.names}) VALUES (${NOTICE.places}) ON CONFLICT DO NOTHING`

async function insertEnded(
  tx: Database,
  incident: Omit<IncidentRow, 'id'>,
  notices: readonly MemoryNotice[],
  processNow: number,
): Promise<void> {
  const now = await readNow(tx, processNow)
  const row = { ...incident, id: createId(incident.beganAt) }
  await tx.prepare(SAVE).run(...INCIDENT.encode(row))
  for (const { channel, kind, state } of notices) {
    await tx.prepare(ADD_CHANNEL).run(channel)
    const notice = {
      incidentId: row.id,
      channel,
      kind,
      level: incident.level,
      createdAt: now,
      dueAt: now,
      state,
    }
    const finishedAt = state === 'sent' ? now : undefined
    await tx.prepare(ADD_NOTICE).run(...NOTICE.encode({ ...notice, finishedAt }))
  }
}

/** More are sent with the next message. */
const MAX_CLAIMED = 200

const DUE = defineColumns({
  kind: text<NoticeKind>(),
  noticeLevel: text<Level>(),
  id: text(),
  name: text(),
  scope: text(),
  text: text(),
  beganAt: number(),
  endedAt: optional(number()),
})

/** Longer than any wait for the next attempt, which is an hour and a random part of it. */
const MAX_RETRY_MS = 2 * HOUR_MS
/** A notice that was made later than this after the present time was made by a clock that was ahead. */
const AHEAD_MS = MINUTE_MS

const NOW = 'CAST($2 AS BIGINT)'
const IS_DUE = `n.channel = $1 AND n.state = 'waiting' AND (n.due_at <= ${NOW} OR n.created_at > ${NOW} + ${AHEAD_MS})`

/** A time further ahead than the longest wait is of a clock that was ahead: nothing waits for it. */
const isPast = (column: string, longest: string | number) =>
  `(${column} <= ${NOW} OR ${column} > ${NOW} + ${longest})`

async function claimDue(tx: Database, { channel, leaseMs }: Claim, processNow: number) {
  const now = await readNow(tx, processNow)
  const isClaimed = await tx
    .prepare(
      `UPDATE notice_channels SET claimed_until = ${NOW} + CAST($3 AS BIGINT)
       WHERE channel = $1 AND ${isPast('claimed_until', 'CAST($3 AS BIGINT)')} AND ${isPast('retry_at', MAX_RETRY_MS)}
         AND EXISTS (SELECT 1 FROM notices n WHERE ${IS_DUE})`,
    )
    .run(channel, now, leaseMs)
  if (isClaimed === 0) return undefined
  const row = await tx.prepare('SELECT tries FROM notice_channels WHERE channel = $1').get(channel)
  const due = await tx
    .prepare(
      `SELECT n.kind, n.level AS notice_level, i.id, i.name, i.scope, i.text, i.began_at, i.ended_at
       FROM notices n JOIN incidents i ON i.id = n.incident_id
       WHERE ${IS_DUE}
       ORDER BY n.created_at, i.name, i.scope, i.id LIMIT ${MAX_CLAIMED}`,
    )
    .all(channel, now)
  const notices = due.map(DUE.decode).map(
    ({ kind, noticeLevel, ...incident }): DueNotice => ({
      kind,
      level: noticeLevel,
      incident,
    }),
  )
  return { tries: Number(row?.tries), claimedUntil: now + leaseMs, notices }
}

async function settle(tx: Database, settlement: Settlement, processNow: number): Promise<void> {
  const { channel, claimed, problem, isSent, retryInMs, giveUpMs } = settlement
  const now = await readNow(tx, processNow)
  if (isSent)
    for (const { kind, incident } of claimed.notices)
      await tx
        .prepare(
          `UPDATE notices SET state = 'sent', finished_at = $4 WHERE incident_id = $1 AND channel = $2 AND kind = $3`,
        )
        .run(incident.id, channel, kind, now)
  else
    await tx
      .prepare(
        `UPDATE notices SET state = 'failed', finished_at = CAST($2 AS BIGINT)
         WHERE channel = $1 AND state = 'waiting' AND due_at < CAST($2 AS BIGINT) - CAST($3 AS BIGINT)`,
      )
      .run(channel, now, giveUpMs)
  const row = await tx.prepare(`SELECT ${CHANNEL.names} FROM notice_channels WHERE channel = $1`).get(channel)
  const { failingSince, sentAt, claimedUntil } = CHANNEL.decode(row) ?? {}
  // After the lease, another process may have claimed the channel.
  if (claimedUntil === claimed.claimedUntil)
    await tx.prepare(SETTLE).run(
      ...CHANNEL.encode({
        ...{ channel, claimedUntil: 0, problem, sentAt: isSent ? now : sentAt },
        ...{ retryAt: isSent ? 0 : now + retryInMs, tries: isSent ? 0 : claimed.tries + 1 },
        failingSince: problem === undefined ? undefined : Math.min(failingSince ?? now, now),
      }),
    )
}

const SETTLE = `UPDATE notice_channels SET claimed_until = $2, retry_at = $3, tries = $4, failing_since = $5,
  problem = $6, sent_at = $7 WHERE channel = $1`

async function deleteExpired(database: Database, ageMs: number, now: number): Promise<number> {
  const tooOld = `${toSharedNow(database, 'CAST($1 AS BIGINT)')} - CAST($2 AS BIGINT)`
  const incidents = await deleteSome(database, 'incidents', `ended_at < ${tooOld}`, now, ageMs)
  const orphans = await deleteSome(
    database,
    'notices',
    'NOT EXISTS (SELECT 1 FROM incidents i WHERE i.id = notices.incident_id)',
  )
  return Math.max(incidents, orphans)
}
