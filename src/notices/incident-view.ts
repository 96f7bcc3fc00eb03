import { toIsoTime } from '../contract/time.ts'
import { type Channel, toProblemText } from './channels.ts'
import type { ChannelRow, IncidentReport } from './incident-table.ts'

const toTime = (at: number | undefined) => (at === undefined ? null : toIsoTime(at))

/** An incident, as the admin API and the command line show it. */
export const toIncidentView = ({
  id,
  name,
  scope,
  level,
  text,
  beganAt,
  endedAt,
  notices,
}: IncidentReport) => ({
  id,
  name,
  node: scope === '' ? null : scope,
  level,
  text,
  began_at: toIsoTime(beganAt),
  ended_at: toTime(endedAt),
  notices: notices.map(({ channel, kind, level: told, state, dueAt, finishedAt }) => ({
    channel,
    kind,
    level: told,
    state,
    due_at: toIsoTime(dueAt),
    finished_at: toTime(finishedAt),
  })),
})

/** The configured channels, and how their last messages went. */
export const toChannelViews = (channels: readonly Channel[], rows: readonly ChannelRow[]) =>
  channels.map(({ name, host }) => {
    const row = rows.find(({ channel }) => channel === name)
    const isFailing = row?.failingSince !== undefined
    return {
      channel: name,
      host,
      state: isFailing ? ('failing' as const) : ('active' as const),
      failing_since: toTime(row?.failingSince),
      problem: isFailing ? toProblemText(row?.problem) : null,
      sent_at: toTime(row?.sentAt),
      retry_at: toTime(row?.retryAt || undefined),
    }
  })
