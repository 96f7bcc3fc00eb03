import type { KeyUsageReport } from '../../../../src/admin/key-usage.ts'
import { SelectField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { toCount } from '../../format.ts'
import { useFilters } from '../../route.ts'
import { useQuery } from '../../use-query.ts'

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

export function KeyUsage() {
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
        cell: ({ name, key_id }) => (
          <>
            {name || 'a key of this server'} <code>{key_id}</code>
          </>
        ),
      },
      { title: 'Owner', cell: ({ owner }) => owner },
      { title: 'Verified', cell: ({ verified }) => toCount(verified), isNumber: true },
      { title: 'Not verified', cell: ({ not_verified }) => toCount(not_verified), isNumber: true },
      { title: 'Failed', cell: ({ failed }) => toCount(failed), isNumber: true },
      { title: 'Paid calls', cell: ({ paid_calls }) => toCount(paid_calls), isNumber: true },
      { title: 'Cost (₦)', cell: ({ cost_naira }) => cost_naira.toFixed(2), isNumber: true },
    ]}
  />
)
