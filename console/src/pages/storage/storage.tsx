import type { StorageView } from '../../../../src/admin/settings.ts'
import { Facts } from '../../components/facts.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toBytes, toCount, toDay } from '../../format.ts'
import { toGuide } from '../../guide.ts'
import { useQuery } from '../../use-query.ts'

/** How large the database is, how fast it grows, when its disk is full, and what was archived. */
export function Storage() {
  const query = useQuery<StorageView>('/admin/storage')
  return (
    <QueryResult query={query} lines={8}>
      {(view) => (
        <>
          <div class="halves">
            <Size view={view} />
            <Growth view={view} />
          </div>
          <Backups view={view} />
          <Archives view={view} />
          <History view={view} />
          {view.tables.length > 0 && <Tables view={view} />}
          <Kept view={view} />
        </>
      )}
    </QueryResult>
  )
}

type Props = { readonly view: StorageView }

function Size({ view }: Props) {
  return (
    <Panel title="Size">
      <Facts
        facts={[
          ['Database', view.database === 'sqlite' ? 'SQLite, one file' : 'PostgreSQL'],
          ['On disk', toBytes(view.total_bytes)],
          ...(view.database === 'sqlite'
            ? [['Free inside the file, used again', toBytes(view.free_inside_bytes)] as const]
            : []),
          ['Audit rows in the database', toCount(view.audit_rows)],
        ]}
      />
    </Panel>
  )
}

function Growth({ view: { bytes_per_day, disk, days_left } }: Props) {
  return (
    <Panel title="Growth">
      <Facts
        facts={[
          ['Growth a day', toGrowth(bytes_per_day)],
          [
            'Free on the disk',
            disk
              ? `${toBytes(disk.free_bytes)} of ${toBytes(disk.size_bytes)}`
              : 'The disk of PostgreSQL cannot be seen from here',
          ],
          [
            'Disk full',
            disk?.status === 'failed' ? (
              <Pill key="full" tone="bad">
                {disk.free_bytes < 1e6 ? 'now: free some space' : 'almost: free some space'}
              </Pill>
            ) : days_left === null ? (
              toNotFull(bytes_per_day, disk)
            ) : (
              <Full key="full" days={days_left} />
            ),
          ],
        ]}
      />
      <p class="dim">The median of the last 30 days.</p>
    </Panel>
  )
}

function toGrowth(bytes: number | null): string {
  if (bytes === null) return 'Known when two days were measured'
  return bytes > 0 ? toBytes(bytes) : 'It does not grow'
}

const toNotFull = (bytes: number | null, disk: StorageView['disk']) =>
  bytes === null || disk === null ? 'Not known' : 'Not at this rate'

const SOON_DAYS = 30
const DAY_MS = 86_400_000
/** Later dates cannot be shown, and mean nothing. */
const MAX_DAYS = 36_500

function Full({ days }: { readonly days: number }) {
  if (days > MAX_DAYS) return <span>Not at this rate</span>
  const date = toDay(new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10))
  const text = `in ${toCount(days)} days, on ${date}, at this rate`
  return days < SOON_DAYS ? <Pill tone="bad">{text}</Pill> : <span>{text}</span>
}

function Archives({ view: { archives } }: Props) {
  return (
    <Panel title="Archives of the audit log">
      {archives.length === 0 ? (
        <Empty>
          <p>No audit row was archived. Set TABBAT_AUDIT_KEEP, or run: tabbat audit archive</p>
        </Empty>
      ) : (
        <Table
          label="Archives of the audit log"
          file="archives"
          rows={archives}
          keyOf={({ number }) => String(number)}
          columns={[
            { title: 'Number', cell: ({ number }) => String(number) },
            { title: 'Rows', cell: ({ rows }) => toCount(rows), isNumber: true },
            { title: 'Rows before', cell: ({ before }) => toDay(before.slice(0, 10)) },
            { title: 'Archived', cell: ({ archived_at }) => <When at={archived_at} /> },
            { title: 'By', cell: ({ by }) => by },
            {
              title: 'Rows in the database',
              cell: ({ removed }) => (
                <Pill tone={removed ? 'good' : 'warn'}>{removed ? 'removed' : 'being removed'}</Pill>
              ),
            },
          ]}
        />
      )}
    </Panel>
  )
}

/** The newest day first. */
function History({ view: { history } }: Props) {
  const rows = history
    .map(({ day, bytes }, index) => ({ day, bytes, change: bytes - (history[index - 1]?.bytes ?? bytes) }))
    .toReversed()
  return (
    <Panel title="Size by day">
      <Table
        label="Size by day"
        file="size-by-day"
        rows={rows}
        keyOf={({ day }) => day}
        columns={[
          { title: 'Day', cell: ({ day }) => toDay(day) },
          { title: 'Size', cell: ({ bytes }) => toBytes(bytes), isNumber: true },
          { title: 'Change', cell: ({ change }) => toBytes(change), isNumber: true },
        ]}
      />
    </Panel>
  )
}

function Tables({ view: { tables } }: Props) {
  return (
    <Panel title="Tables">
      <Table
        label="Tables"
        file="tables"
        rows={tables}
        keyOf={({ table }) => table}
        columns={[
          { title: 'Table', cell: ({ table }) => <code>{table}</code> },
          { title: 'Size', cell: ({ bytes }) => toBytes(bytes), isNumber: true },
        ]}
      />
    </Panel>
  )
}

function Backups({ view: { backup, backup_check: check } }: Props) {
  return (
    <Panel title="Backups">
      {backup === null ? (
        <p>
          <Pill tone="warn">none</Pill> No backup was made with <code>tabbat backup FILE</code>.
        </p>
      ) : (
        <Facts
          facts={[
            ['Last backup', <When key="at" at={backup.at} />],
            ['Size', backup.bytes === null ? 'not noted' : toBytes(backup.bytes)],
          ]}
        />
      )}
      {check && (
        <Facts
          facts={[
            [
              'Last check',
              <>
                <When at={check.at} />{' '}
                <Pill tone={check.is_good ? 'good' : 'bad'}>{check.is_good ? 'good' : 'NOT good'}</Pill>
              </>,
            ],
            [
              'Checked backup',
              <When key="of" at={check.backup_of} otherwise="A file that is not as it was written" />,
            ],
          ]}
        />
      )}
      <p class="dim">
        {check === null && 'No check was noted here. '}
        Check that a backup can be restored: <code>tabbat backup check FILE</code>. The server does not see
        where backups are kept. A check on a machine without this database is not noted here.{' '}
        <GuideLink to={toGuide('backup')}>More about backups</GuideLink>
      </p>
    </Panel>
  )
}

type Words = { readonly kept: (time: string) => string; readonly off: string }

const RETENTION: Readonly<Record<string, Words>> = {
  TABBAT_AUDIT_KEEP: {
    kept: (time) => `Audit rows are archived, in whole months, after ${time}.`,
    off: 'Audit rows are never archived by themselves.',
  },
  TABBAT_RECORDS_KEEP: {
    kept: (time) => `Your own records are erased ${time} after their import.`,
    off: 'Your own records are never erased by themselves.',
  },
  TABBAT_STATISTICS_KEEP: {
    kept: (time) => `The figures of a day are deleted after ${time}.`,
    off: 'The figures of a day are never deleted.',
  },
  TABBAT_REQUESTS_KEEP: {
    kept: (time) => `The request log has the last ${time}.`,
    off: 'There is no request log.',
  },
  TABBAT_REQUESTS_MAX: {
    kept: (count) => `The request log has at most ${toCount(Number(count))} requests.`,
    off: 'The number of requests in the request log is not limited.',
  },
  TABBAT_WEBHOOKS_LOG: {
    kept: (time) => `Deliveries of webhooks are deleted after ${time}.`,
    off: 'Deliveries of webhooks are not kept.',
  },
  TABBAT_PENDING_KEEP: {
    kept: (time) => `Answers that came later can be read for ${time}.`,
    off: 'Answers that came later are not kept.',
  },
}

const UNITS: Readonly<Record<string, string>> = { m: 'minute', h: 'hour', d: 'day', w: 'week', y: 'year' }

/** `2y` becomes `2 years`. */
function toTimeWords(value: string): string {
  const [, count = '', unit = ''] = /^(\d+)([mhdwy])$/.exec(value) ?? []
  return count === '' ? value : `${count} ${UNITS[unit]}${count === '1' ? '' : 's'}`
}

function toRetention({ setting, value }: StorageView['keep'][number]): string {
  const words = RETENTION[setting]
  if (!words) return ''
  return value === 'off' ? words.off : words.kept(toTimeWords(value))
}

function Kept({ view: { keep, next_cleanup_at, next_archive } }: Props) {
  return (
    <Panel title="How long data is kept">
      <Table
        label="How long data is kept"
        file="retention"
        rows={keep}
        keyOf={({ setting }) => setting}
        columns={[
          { title: 'Setting', cell: ({ setting }) => <code>{setting}</code> },
          { title: 'Value', cell: ({ value }) => value },
          { title: 'Meaning', cell: toRetention },
        ]}
      />
      <p class="dim">
        Every node looks once an hour for what is older, and deletes or archives it then. This one looks next
        at <When at={next_cleanup_at} />.
        {next_archive && (
          <>
            {' '}
            Next in the archive: the audit rows before <When at={next_archive.before} />, by the first run
            after <When at={next_archive.from} />.
          </>
        )}{' '}
        <GuideLink to={toGuide('retention')}>More about retention</GuideLink>
      </p>
    </Panel>
  )
}
