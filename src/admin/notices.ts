import { auditBy } from '../audit/audit-log.ts'
import { loadNodeName } from '../audit/chain-claim.ts'
import { AdminError } from '../contract/error.ts'
import { type Static, Type } from '../contract/schema.ts'
import { toChannelViews, toIncidentView } from '../notices/incident-view.ts'
import { testNotices } from '../notices/notices.ts'
import { CHANNELS, toQuietText } from '../notices/settings.ts'
import { strict, Time } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'

const ChannelField = Type.Enum(CHANNELS)
const LevelField = Type.Enum(['warning', 'critical'] as const)

export const NoticeChannels = Type.Object({
  channels: Type.Array(
    Type.Object({
      channel: ChannelField,
      /** The host of the mail server or of the chat, without what is secret. */
      host: Type.String(),
      state: Type.Enum(['active', 'failing'] as const),
      failing_since: Type.Nullable(Time),
      /** What is wrong, and what to do. */
      problem: Type.Nullable(Type.String()),
      /** When a message was last sent. */
      sent_at: Type.Nullable(Time),
      /** When the next attempt is made. */
      retry_at: Type.Nullable(Time),
    }),
  ),
  /** Such as 22:00-06:00; null: there are none. */
  quiet_hours: Type.Nullable(Type.String()),
  zone: Type.String(),
})
export type NoticeChannels = Static<typeof NoticeChannels>

export const TestedChannels = Type.Object({
  results: Type.Array(
    Type.Object({
      channel: ChannelField,
      host: Type.String(),
      ok: Type.Boolean(),
      problem: Type.Nullable(Type.String()),
      explanation: Type.String(),
      duration_ms: Type.Integer(),
    }),
  ),
})
export type TestedChannels = Static<typeof TestedChannels>

const IncidentsRequest = Type.Object({ before: Type.Optional(Type.String({ maxLength: 60 })) }, strict)

export const Incidents = Type.Object({
  incidents: Type.Array(
    Type.Object({
      id: Type.String(),
      /** The check and, after a colon, what it is about. */
      name: Type.String(),
      /** Null: it is about all nodes. */
      node: Type.Nullable(Type.String()),
      level: LevelField,
      text: Type.String(),
      began_at: Time,
      /** Null: it lasts. */
      ended_at: Type.Nullable(Time),
      notices: Type.Array(
        Type.Object({
          channel: ChannelField,
          kind: Type.Enum(['began', 'worse', 'ended'] as const),
          level: LevelField,
          /** `replaced`: the incident became critical before the warning was sent. */
          state: Type.Enum(['waiting', 'sent', 'failed', 'replaced'] as const),
          due_at: Time,
          finished_at: Type.Nullable(Time),
        }),
      ),
    }),
  ),
  /** The value of `before` for the next page; null when there is none. */
  next: Type.Nullable(Type.String()),
})
export type Incidents = Static<typeof Incidents>

const tag = 'Incidents'
const PAGE = 25

const list = defineRoute({
  name: 'list_incidents',
  tag,
  method: 'GET',
  path: '/admin/incidents',
  summary:
    'What people were told of, the newest first: when it began and ended, and which notices were sent.',
  role: 'viewer',
  input: IncidentsRequest,
  output: Incidents,
  run: async ({ context: { store } }, { input: { before } }) => {
    const rows = await store.incidents.list({ most: PAGE, before })
    return {
      incidents: rows.map(toIncidentView),
      next: rows.length < PAGE ? null : (rows.at(-1)?.id ?? null),
    }
  },
})

const read = defineRoute({
  name: 'read_notices',
  tag,
  method: 'GET',
  path: '/admin/notices',
  summary: 'The channels by which people are told of incidents, without their addresses and passwords.',
  role: 'viewer',
  output: NoticeChannels,
  run: async ({ context: { store, notices, config } }) => ({
    channels: toChannelViews(notices.channels, await store.incidents.listChannels()),
    quiet_hours: toQuietText(config),
    zone: config.noticesZone,
  }),
})

const test = defineRoute({
  name: 'test_notices',
  tag,
  method: 'POST',
  path: '/admin/notices/test',
  summary:
    'Send a test message to every channel once, and return what became of it. At most one in 10 seconds.',
  role: 'operator',
  output: TestedChannels,
  run: async (deps, { actor }) => {
    const { notices, config, store } = deps.context
    const waitS = notices.takeTest()
    if (waitS > 0) throw new AdminError('too_many_tries', { headers: ['retry-after', String(waitS)] })
    const node = loadNodeName(config.dataDir)
    const audit = auditBy(deps, actor)
    const results = await testNotices({
      ...{ channels: notices.channels, node, config, audit },
      table: store.incidents,
    })
    return { results }
  },
})

export const NOTICE_ROUTES: readonly AdminRoute[] = [list, read, test]
