import { DAY_MS, HOUR_MS, MINUTE_MS } from '../contract/time.ts'

/** `critical`: callers get errors, or data is at risk. It is told at any time of the day. */
export type Level = 'warning' | 'critical'

/** What a health check finds now, of one incident. */
export type Seen = { readonly level: Level; readonly text: string }

/** A finding that began, lasts or lasted, and ended. */
export type IncidentState = {
  /** The worst that was told or, before, the present one. */
  readonly level: Level
  readonly text: string
  /** When it was first seen. */
  readonly beganAt: number
  /** When it was first seen as critical. Undefined again if that did not last. */
  readonly criticalAt: number | undefined
  /** Since when it is no longer seen. */
  readonly clearedAt: number | undefined
  /** The level that people were told; undefined: nothing yet. */
  readonly told: Level | undefined
  readonly endedAt: number | undefined
  /** How many incidents of the same name ended shortly before. */
  readonly repeats: number
}

/** `worse`: a warning that people were told of is critical now. */
export type NoticeKind = 'began' | 'worse' | 'ended'

/** A finding must last so long before it is told: longer than the interval of the checks. */
export const BEGIN_AFTER_MS = 90_000
/** It must be absent so long before it has ended. */
const END_AFTER_MS = 5 * MINUTE_MS
/** It doubles each time the finding comes back within a day, up to this. */
const MAX_END_AFTER_MS = 6 * HOUR_MS

export const toEndAfterMs = (repeats: number) =>
  Math.min(END_AFTER_MS * 2 ** Math.min(repeats, 20), MAX_END_AFTER_MS)

type Step = {
  /** Undefined: there is nothing to remember. */
  readonly incident: IncidentState | undefined
  /** What people must be told now. */
  readonly notice: NoticeKind | undefined
}

/** Before the text of an incident about a node that is gone. Its end is then not an end. */
export const NOT_KNOWN =
  'This node no longer reports, so it is not known whether this has ended. Last found: '

const RANKS = { warning: 1, critical: 2 } as const
const rankOf = (level: Level | undefined) => (level === undefined ? 0 : RANKS[level])
export const worstOf = (one: Level | undefined, other: Level): Level =>
  rankOf(one) > rankOf(other) ? (one as Level) : other

type Before = { readonly endedAt: number; readonly repeats: number }

/**
 * The next state of an incident. One notice when it begins, one if a warning becomes critical, one when it ends. A finding that comes and goes is
 * one incident until it has been absent for long enough.
 */
export function stepIncident(
  noted: IncidentState | undefined,
  seen: Seen | undefined,
  now: number,
  before?: Before,
): Step {
  const open = noted && notAfter(noted, now)
  if (seen) return stepSeen(open ?? beginIncident(seen, now, before), seen, now)
  if (!open) return { incident: undefined, notice: undefined }
  const clearedAt = open.clearedAt ?? now
  if (now - clearedAt < toEndAfterMs(open.repeats))
    return { incident: { ...open, clearedAt }, notice: undefined }
  // It did not last: nobody was told, and nobody is.
  if (open.told === undefined) return { incident: undefined, notice: undefined }
  return { incident: { ...open, clearedAt, endedAt: clearedAt }, notice: 'ended' }
}

/** The clock was ahead when it was noted, and was corrected. Otherwise nothing would be told until that time. */
const notAfter = (noted: IncidentState, now: number): IncidentState => ({
  ...noted,
  beganAt: Math.min(noted.beganAt, now),
  criticalAt: noted.criticalAt && Math.min(noted.criticalAt, now),
  clearedAt: noted.clearedAt && Math.min(noted.clearedAt, now),
})

const beginIncident = ({ level, text }: Seen, now: number, before: Before | undefined): IncidentState => ({
  level,
  text,
  beganAt: now,
  criticalAt: undefined,
  clearedAt: undefined,
  told: undefined,
  endedAt: undefined,
  repeats: before !== undefined && isWithinDay(before.endedAt, now) ? before.repeats + 1 : 0,
})

const isWithinDay = (at: number, now: number) => at <= now && now - at < DAY_MS

function stepSeen(open: IncidentState, seen: Seen, now: number): Step {
  const criticalAt = toCriticalAt(open, seen, now)
  const since = seen.level === 'critical' ? (criticalAt ?? now) : open.beganAt
  const isDue = now - since >= BEGIN_AFTER_MS && rankOf(seen.level) > rankOf(open.told)
  const level = worstOf(open.told, seen.level)
  const incident = {
    ...open,
    criticalAt,
    clearedAt: undefined,
    level,
    // What was told stays, until something worse is.
    text: rankOf(seen.level) >= rankOf(open.told) ? seen.text : open.text,
    told: isDue ? seen.level : open.told,
  }
  return { incident, notice: isDue ? (open.told === undefined ? 'began' : 'worse') : undefined }
}

/** One look hours ago does not make the next one last. One that comes and goes within minutes does. */
function toCriticalAt({ criticalAt, told }: IncidentState, seen: Seen, now: number): number | undefined {
  if (seen.level === 'critical') return criticalAt ?? now
  const isOld = criticalAt !== undefined && told !== 'critical' && now - criticalAt >= END_AFTER_MS
  return isOld ? undefined : criticalAt
}

/** `from` and `to` are minutes after midnight in the zone; over midnight if `to` is earlier. */
export type QuietHours = { readonly from: number; readonly to: number; readonly zone: string }

/** When the quiet hours end in which this time lies; undefined if it lies in none. */
export function toQuietEnd(quiet: QuietHours | undefined, at: number): number | undefined {
  if (quiet === undefined || !isQuiet(quiet, at)) return undefined
  // By the minute and not by a sum: in many zones, some days have 23 or 25 hours.
  const minute = Math.floor(at / MINUTE_MS) * MINUTE_MS
  for (let end = minute + MINUTE_MS; end <= minute + 2 * DAY_MS; end += MINUTE_MS)
    if (!isQuiet(quiet, end)) return end
  return undefined
}

function isQuiet({ from, to, zone }: QuietHours, at: number): boolean {
  const minute = toMinuteOfDay(zone, at)
  return from < to ? minute >= from && minute < to : minute >= from || minute < to
}

const clocks = new Map<string, Intl.DateTimeFormat>()

function toMinuteOfDay(zone: string, at: number): number {
  const clock =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  clocks.set(zone, clock)
  const [hour = 0, minute = 0] = clock.format(at).split(':').map(Number)
  return hour * 60 + minute
}
