import type { KeyUsageReport } from '../../../src/admin/shapes/key-usage.ts'
import { toCount } from '../format.ts'
import { useFilters } from '../route.ts'
import { keyUsageTexts as texts } from '../texts/en/key-usage.ts'
import { useQuery } from '../use-query.ts'
import { SelectField } from './field.tsx'
import { Panel } from './panel.tsx'
import { Empty, QueryResult } from './query-result.tsx'
import { Table } from './table.tsx'

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
      title={texts.title}
      aside={
        <a class="button push" href={`/admin/keys/usage.csv?${search}`} download>
          {texts.download}
        </a>
      }
    >
      <div class="bar ends">
        <SelectField
          label={texts.from}
          value={from}
          onValue={(month) => change({ from: month })}
          options={MONTHS}
        />
        <SelectField
          label={texts.to}
          value={to}
          onValue={(month) => change({ to: month })}
          options={MONTHS}
        />
      </div>
      <QueryResult query={query}>
        {({ usage }) =>
          usage.length === 0 ? (
            <Empty>
              <p>{texts.none}</p>
            </Empty>
          ) : (
            <UsageTable rows={usage} />
          )
        }
      </QueryResult>
      <p class="dim">{texts.help}</p>
    </Panel>
  )
}

const UsageTable = ({ rows }: { rows: readonly Row[] }) => (
  <Table
    label={texts.label}
    rows={rows}
    keyOf={({ month, key_id }) => `${month} ${key_id}`}
    columns={[
      { title: texts.month, cell: ({ month }) => month },
      {
        title: texts.key,
        cell: ({ name, key_id }) => (
          <>
            {name || texts.deleted} <code>{key_id}</code>
          </>
        ),
      },
      { title: texts.owner, cell: ({ owner }) => owner },
      { title: texts.verified, cell: ({ verified }) => toCount(verified), isNumber: true },
      { title: texts.notVerified, cell: ({ not_verified }) => toCount(not_verified), isNumber: true },
      { title: texts.failed, cell: ({ failed }) => toCount(failed), isNumber: true },
      { title: texts.paidCalls, cell: ({ paid_calls }) => toCount(paid_calls), isNumber: true },
      { title: texts.cost, cell: ({ cost_naira }) => cost_naira.toFixed(2), isNumber: true },
    ]}
  />
)
