import { useState } from 'preact/hooks'
import type {
  Incidents as IncidentPage,
  NoticeChannels,
  TestedChannels,
} from '../../../../src/admin/notices.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { ErrorNote } from '../../components/error-note.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { OlderPages } from '../../components/older-pages.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toMs } from '../../format.ts'
import { toGuide } from '../../guide.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

/** What went wrong and when it ended, who was told, and whether the channels work. */
export function Incidents() {
  return (
    <>
      <p class="dim">
        A finding of the health checks that lasts is an incident. People are told once when it begins, once if
        a warning becomes critical, and once when it ends. See{' '}
        <GuideLink to={toGuide('notices')}>Notices</GuideLink>.
      </p>
      <Channels />
      <IncidentList />
    </>
  )
}

type Row = NoticeChannels['channels'][number]

const NAMES: Readonly<Record<Row['channel'], string>> = { email: 'E-mail', slack: 'Slack', teams: 'Teams' }

function Channels() {
  const query = useQuery<NoticeChannels>('/admin/notices')
  const { api } = useAppContext()
  const isOperator = useHasRole('operator')
  const [tested, setTested] = useState<TestedChannels>()
  const test = useMutation(async () => setTested(await api.post<TestedChannels>('/admin/notices/test')))
  return (
    <Panel
      title="Channels"
      aside={
        isOperator &&
        query.value &&
        query.value.channels.length > 0 && (
          <button type="button" class="main push" disabled={test.isBusy} onClick={() => void test.run()}>
            {test.isBusy ? 'Sending…' : 'Send a test'}
          </button>
        )
      }
    >
      <ErrorNote error={test.error} />
      <div role="status">{tested && <TestResults results={tested.results} />}</div>
      <QueryResult query={query}>{(value) => <ChannelTable value={value} />}</QueryResult>
    </Panel>
  )
}

const TestResults = ({ results }: TestedChannels) => (
  <ul>
    {results.map(({ channel, ok, explanation, duration_ms }) => (
      <li key={channel}>
        <Pill tone={ok ? 'good' : 'bad'}>{ok ? 'sent' : 'failed'}</Pill> {NAMES[channel]}, after{' '}
        {toMs(duration_ms)}. {explanation}
      </li>
    ))}
  </ul>
)

function ChannelTable({ value: { channels, quiet_hours, zone } }: { value: NoticeChannels }) {
  if (channels.length === 0)
    return (
      <Empty>
        <p>
          No channel is configured: incidents are listed on this page, and no message is sent. To send
          messages, set TABBAT_NOTICES_SMTP (e-mail), TABBAT_NOTICES_SLACK or TABBAT_NOTICES_TEAMS, and
          restart the server.
        </p>
      </Empty>
    )
  return (
    <>
      <Table
        label="Channels"
        rows={channels}
        keyOf={({ channel }) => channel}
        columns={[
          { title: 'Channel', cell: ({ channel }) => NAMES[channel] },
          { title: 'Host', cell: ({ host }) => <span class="breaks">{host}</span> },
          { title: 'State', cell: (row) => <ChannelState row={row} /> },
          { title: 'Last sent', cell: ({ sent_at }) => <When at={sent_at} otherwise="nothing yet" /> },
        ]}
      />
      <p class="dim">
        {quiet_hours === null
          ? 'There are no quiet hours: every notice is sent at once.'
          : `Quiet hours ${quiet_hours} (${zone}): warnings wait until they end. What is critical is sent at once.`}
      </p>
    </>
  )
}

function ChannelState({ row: { state, failing_since, problem, retry_at } }: { row: Row }) {
  if (state === 'active') return <Pill tone="good">works</Pill>
  return (
    <span>
      <Pill tone="bad">failing</Pill> since <When at={failing_since} />. {problem}{' '}
      {retry_at !== null && (
        <>
          Next attempt <When at={retry_at} />.
        </>
      )}
    </span>
  )
}

function IncidentList() {
  const [before, setBefore] = useState<string>()
  const query = useQuery<IncidentPage>(
    before === undefined ? '/admin/incidents' : `/admin/incidents?before=${encodeURIComponent(before)}`,
  )
  return (
    <Panel title="Incidents">
      <QueryResult query={query}>
        {({ incidents, next }) => (
          <>
            {incidents.length === 0 ? (
              <Empty>
                <p>There was no incident in the last 90 days.</p>
              </Empty>
            ) : (
              <IncidentTable rows={incidents} />
            )}
            <OlderPages before={before} next={next} onPage={setBefore} />
          </>
        )}
      </QueryResult>
    </Panel>
  )
}

type Incident = IncidentPage['incidents'][number]

const IncidentTable = ({ rows }: { rows: readonly Incident[] }) => (
  <Table
    label="Incidents"
    file="incidents"
    isGrowing
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      {
        title: 'Level',
        cell: ({ level, ended_at }) => (
          <Pill tone={ended_at === null ? (level === 'critical' ? 'bad' : 'warn') : 'dim'}>{level}</Pill>
        ),
      },
      {
        title: 'What',
        cell: ({ name, node, text }) => (
          <span class="breaks">
            <b>{node === null ? name : `${name} (node ${node})`}</b> {text}
          </span>
        ),
        exported: { Check: ({ name }) => name, Node: ({ node }) => node, What: ({ text }) => text },
      },
      { title: 'Began', cell: ({ began_at }) => <When at={began_at} /> },
      { title: 'Ended', cell: ({ ended_at }) => <When at={ended_at} otherwise="it lasts" /> },
      { title: 'Messages', cell: ({ notices }) => <Told notices={notices} /> },
    ]}
  />
)

const TONES = { waiting: 'warn', sent: 'good', failed: 'bad', replaced: 'dim' } as const
const KINDS = { began: 'beginning', worse: 'critical', ended: 'end' } as const

function Told({ notices }: Pick<Incident, 'notices'>) {
  if (notices.length === 0) return <span class="dim">no message: no channel was configured</span>
  return (
    <>
      {notices.map(({ channel, kind, state, finished_at, due_at }) => (
        <div key={`${channel} ${kind}`}>
          {NAMES[channel]}, {KINDS[kind]}: <Pill tone={TONES[state]}>{state}</Pill>{' '}
          <When at={finished_at ?? due_at} />
        </div>
      ))}
    </>
  )
}
