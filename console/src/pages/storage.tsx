import type { StorageView } from '../../../src/admin/shapes/storage.ts'
import { Facts } from '../components/facts.tsx'
import { Panel } from '../components/panel.tsx'
import { Pill } from '../components/pill.tsx'
import { Empty, QueryResult } from '../components/query-result.tsx'
import { Table } from '../components/table.tsx'
import { When } from '../components/when.tsx'
import { toBytes, toCount, toDay } from '../format.ts'
import { storageTexts as texts } from '../texts/en/storage.ts'
import { useQuery } from '../use-query.ts'

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
    <Panel title={texts.size}>
      <Facts
        facts={[
          [texts.database, texts[view.database]],
          [texts.total, toBytes(view.total_bytes)],
          ...(view.database === 'sqlite'
            ? [[texts.freeInside, toBytes(view.free_inside_bytes)] as const]
            : []),
          [texts.auditRows, toCount(view.audit_rows)],
        ]}
      />
    </Panel>
  )
}

function Growth({ view: { bytes_per_day, disk, days_left } }: Props) {
  return (
    <Panel title={texts.growth}>
      <Facts
        facts={[
          [texts.perDay, toGrowth(bytes_per_day)],
          [
            texts.diskFree,
            disk ? texts.toFreeOf(toBytes(disk.free_bytes), toBytes(disk.size_bytes)) : texts.diskUnseen,
          ],
          [
            texts.full,
            days_left === null ? toNotFull(bytes_per_day, disk) : <Full key="full" days={days_left} />,
          ],
        ]}
      />
      <p class="dim">{texts.perDayNote}</p>
    </Panel>
  )
}

function toGrowth(bytes: number | null): string {
  if (bytes === null) return texts.growthUnknown
  return bytes > 0 ? toBytes(bytes) : texts.doesNotGrow
}

const toNotFull = (bytes: number | null, disk: StorageView['disk']) =>
  bytes === null || disk === null ? texts.fullUnknown : texts.notFull

const SOON_DAYS = 30
const DAY_MS = 86_400_000
/** Later dates cannot be shown, and mean nothing. */
const MOST_DAYS = 36_500

function Full({ days }: { readonly days: number }) {
  if (days > MOST_DAYS) return <span>{texts.notFull}</span>
  const date = toDay(new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10))
  const text = texts.toFull(toCount(days), date)
  return days < SOON_DAYS ? <Pill tone="bad">{text}</Pill> : <span>{text}</span>
}

function Archives({ view: { archives } }: Props) {
  return (
    <Panel title={texts.archives}>
      {archives.length === 0 ? (
        <Empty>
          <p>{texts.noArchives}</p>
        </Empty>
      ) : (
        <Table
          label={texts.archives}
          rows={archives}
          keyOf={({ number }) => String(number)}
          columns={[
            { title: texts.number, cell: ({ number }) => String(number) },
            { title: texts.rows, cell: ({ rows }) => toCount(rows), isNumber: true },
            { title: texts.before, cell: ({ before }) => toDay(before.slice(0, 10)) },
            { title: texts.archived, cell: ({ archived_at }) => <When at={archived_at} /> },
            { title: texts.by, cell: ({ by }) => by },
            {
              title: texts.state,
              cell: ({ removed }) => (
                <Pill tone={removed ? 'good' : 'warn'}>{removed ? texts.removed : texts.notRemoved}</Pill>
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
    <Panel title={texts.history}>
      <Table
        label={texts.history}
        rows={rows}
        keyOf={({ day }) => day}
        columns={[
          { title: texts.day, cell: ({ day }) => toDay(day) },
          { title: texts.size, cell: ({ bytes }) => toBytes(bytes), isNumber: true },
          { title: texts.change, cell: ({ change }) => toBytes(change), isNumber: true },
        ]}
      />
    </Panel>
  )
}

function Tables({ view: { tables } }: Props) {
  return (
    <Panel title={texts.tables}>
      <Table
        label={texts.tables}
        rows={tables}
        keyOf={({ table }) => table}
        columns={[
          { title: texts.table, cell: ({ table }) => <code>{table}</code> },
          { title: texts.size, cell: ({ bytes }) => toBytes(bytes), isNumber: true },
        ]}
      />
    </Panel>
  )
}

function Kept({ view: { keep } }: Props) {
  return (
    <Panel title={texts.kept}>
      <Table
        label={texts.kept}
        rows={keep}
        keyOf={({ setting }) => setting}
        columns={[
          { title: texts.setting, cell: ({ setting }) => <code>{setting}</code> },
          { title: texts.value, cell: ({ value }) => value },
        ]}
      />
    </Panel>
  )
}
