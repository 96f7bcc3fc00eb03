import { useState } from 'preact/hooks'
import type { KeyUsageReport } from '../../../../src/admin/key-usage.ts'
import type { Keys as KeysShape, KeyWithUsage } from '../../../../src/admin/keys.ts'
import { useHasRole } from '../../app-context.ts'
import { Segments, SelectField } from '../../components/field.tsx'
import { lazy } from '../../components/lazy.tsx'
import { KeyLink } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { SearchedRows } from '../../components/searched-rows.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toNaira } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useFilters } from '../../route.ts'
import { useQuery } from '../../use-query.ts'
import { KeyActions, KeyDialogs, KeyState, type OpenKey } from './key-dialogs.tsx'

const KeyPage = lazy(async () => (await import('./key-page.tsx')).KeyPage)

export function Keys({ rest }: { rest: string }) {
  return rest === '' ? <KeyLists /> : <KeyPage key={rest} id={rest} />
}

function KeyLists() {
  const query = useQuery<KeysShape>('/admin/keys')
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<OpenKey>()
  return (
    <>
      <p class="dim">Use one key per purpose. A key is shown once, when it is created.</p>
      <Panel
        title="All keys"
        aside={
          isOperator &&
          query.value && (
            <button type="button" class="main push" onClick={() => setOpen({ what: 'new' })}>
              Create key
            </button>
          )
        }
      >
        <QueryResult query={query}>{(keys) => <KeyList keys={keys} onOpen={setOpen} />}</QueryResult>
      </Panel>
      <KeyUsage />
      {open && <KeyDialogs open={open} onOpen={setOpen} onChanged={query.reload} />}
    </>
  )
}

const STATES = [
  { value: 'active', text: 'Active' },
  { value: 'all', text: 'All' },
] as const

function KeyList({ keys: { keys }, onOpen }: { keys: KeysShape; onOpen: (open: OpenKey) => void }) {
  const [address, change] = useFilters()
  const state = address.get('state') === 'active' ? 'active' : 'all'
  if (keys.length === 0)
    return (
      <Empty>
        <p>There are no keys yet. Create one for each program that calls this server.</p>
      </Empty>
    )
  return (
    <SearchedRows
      what="keys"
      rows={keys}
      textOf={({ name, id }) => `${name} ${id}`}
      example="Name or id"
      isShown={(key) => state === 'all' || key.state === 'active'}
      filter={
        <Segments
          legend="State"
          value={state}
          options={STATES}
          onValue={(next) => change({ state: next === 'all' ? '' : next })}
        />
      }
    >
      {(rows) => <KeyTable rows={rows} onOpen={onOpen} />}
    </SearchedRows>
  )
}

function KeyTable({ rows, onOpen }: { rows: readonly KeyWithUsage[]; onOpen: (open: OpenKey) => void }) {
  return (
    <Table
      label="Keys"
      file="keys"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          cell: ({ id, name }) => (
            <a class="breaks" href={toHash('keys', id)}>
              {name}
            </a>
          ),
        },
        { title: 'Id', cell: ({ id }) => <code>{id}</code> },
        {
          title: 'Mode',
          cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>,
        },
        { title: 'State', cell: ({ state }) => <KeyState state={state} /> },
        {
          title: 'Used in 30 days',
          cell: ({ verifications_30d }) => toCount(verifications_30d),
          isNumber: true,
        },
        {
          title: 'Last used',
          cell: ({ last_used_at }) => <When at={last_used_at} to="hour" otherwise="never" />,
        },
        { title: 'Expires', cell: ({ expires_at }) => <When at={expires_at} otherwise="never" /> },
        { title: '', cell: (row) => <KeyActions row={row} onOpen={onOpen} /> },
      ]}
    />
  )
}

type Row = KeyUsageReport['usage'][number]

const LAGOS_MS = 60 * 60_000
const MONTHS_LISTED = 25

/** The last months in Lagos time, the present one first. */
const MONTHS = Array.from({ length: MONTHS_LISTED }, (_each, index) => {
  const now = new Date(Date.now() + LAGOS_MS)
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - index)).toISOString()
  return { value: month.slice(0, 'yyyy-mm'.length), text: month.slice(0, 'yyyy-mm'.length) }
})
/** The present month, unless the address has one of the list. */
const toListed = (month: string | null) =>
  (MONTHS.find(({ value }) => value === month) ?? MONTHS[0])?.value ?? ''

function KeyUsage() {
  const [filters, change] = useFilters()
  const to = toListed(filters.get('to'))
  const from = toListed(filters.get('from') ?? to)
  const search = new URLSearchParams({ from, to })
  const query = useQuery<KeyUsageReport>(`/admin/keys/usage?${search}`)
  return (
    <Panel
      title="Usage and cost by month"
      aside={
        <a class="button push" href={`/admin/keys/usage.csv?${search}`} download>
          Download CSV
        </a>
      }
    >
      <div class="bar ends">
        <SelectField
          label="From"
          value={from}
          onValue={(month) => change({ from: month })}
          options={MONTHS}
        />
        <SelectField label="To" value={to} onValue={(month) => change({ to: month })} options={MONTHS} />
      </div>
      <QueryResult query={query}>
        {({ usage }) =>
          usage.length === 0 ? (
            <Empty>
              <p>No key was used in this time.</p>
            </Empty>
          ) : (
            <UsageTable rows={usage} />
          )
        }
      </QueryResult>
      <p class="dim">
        Months are in Lagos time. The cost has the prices that were set when each call was made.
      </p>
    </Panel>
  )
}

const UsageTable = ({ rows }: { rows: readonly Row[] }) => (
  <Table
    label="Usage of keys"
    rows={rows}
    keyOf={({ month, key_id }) => `${month} ${key_id}`}
    columns={[
      { title: 'Month', cell: ({ month }) => month },
      {
        title: 'Key',
        cell: ({ name, key_id }) => <KeyLink id={key_id} name={name || 'a key of this server'} />,
      },
      { title: 'Owner', cell: ({ owner }) => owner },
      { title: 'Verified', cell: ({ verified }) => toCount(verified), isNumber: true },
      { title: 'Not verified', cell: ({ not_verified }) => toCount(not_verified), isNumber: true },
      { title: 'Failed', cell: ({ failed }) => toCount(failed), isNumber: true },
      { title: 'Paid calls', cell: ({ paid_calls }) => toCount(paid_calls), isNumber: true },
      { title: 'Cost', cell: ({ cost_naira }) => toNaira(cost_naira * 100), isNumber: true },
    ]}
  />
)
