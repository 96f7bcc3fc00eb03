import type { RequestRates } from '../../../../src/admin/requests.ts'
import { Segments } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { KeyText } from '../../components/request-rows.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { toCount, toShare, toWords } from '../../format.ts'
import type { FilterChanges } from '../../route.ts'
import { useQuery } from '../../use-query.ts'

const RANGES = { hour: 'Last hour', day: 'Last day', week: 'Last 7 days' } as const

type KeyRateView = RequestRates['keys'][number]

type Range = keyof typeof RANGES

type RequestRatesProps = {
  readonly filters: URLSearchParams
  readonly onChange: (changes: FilterChanges) => void
}

/** What was not answered, by key. */
export function RequestRatesPanel({ filters, onChange }: RequestRatesProps) {
  const given = filters.get('range') ?? ''
  const range: Range = given in RANGES ? (given as Range) : 'day'
  const query = useQuery<RequestRates>(`/admin/requests/rates?range=${range}`)
  return (
    <Panel
      title="Errors by key"
      aside={
        <div class="push">
          <Segments
            legend="Time range"
            value={range}
            options={Object.entries(RANGES).map(([value, text]) => ({ value: value as Range, text }))}
            onValue={(value) => onChange({ range: value })}
          />
        </div>
      }
    >
      <QueryResult query={query}>
        {({ keys, keyless }) => (
          <>
            {keys.length === 0 ? (
              <Empty>
                <p>No request with a valid key in this time.</p>
              </Empty>
            ) : (
              <Table
                label="Errors by key"
                rows={keys}
                keyOf={({ key_id }) => key_id}
                columns={toColumns((key_id) => onChange({ key_id }))}
              />
            )}
            <p class="dim">
              Not answered: refused, failed, or the caller closed the connection. A number that is not
              verified is an answer.
            </p>
            {keyless.length > 0 && <p class="dim">{toKeylessText(keyless)}</p>}
          </>
        )}
      </QueryResult>
    </Panel>
  )
}

const toColumns = (onKey: (keyId: string) => void): readonly Column<KeyRateView>[] => [
  {
    title: 'Key',
    cell: (rate) => (
      <button
        type="button"
        class="link"
        title={`Show the requests of ${rate.key_name ?? rate.key_id}`}
        onClick={() => onKey(rate.key_id)}
      >
        <KeyText {...rate} />
      </button>
    ),
  },
  { title: 'Requests', isNumber: true, cell: ({ requests }) => toCount(requests) },
  { title: 'Not answered', isNumber: true, cell: (rate) => toShare(toErrorShare(rate)) },
  { title: 'Refused (4xx)', isNumber: true, cell: ({ refused }) => toCount(refused) },
  { title: 'Failed (5xx)', isNumber: true, cell: ({ failed }) => toCount(failed) },
  { title: 'Broken off', isNumber: true, cell: ({ broken_off }) => toCount(broken_off) },
  { title: 'Most frequent', cell: ({ top_code }) => (top_code === null ? '–' : toWords(top_code)) },
]

const toErrorShare = ({ requests, answered }: KeyRateView) =>
  requests === 0 ? null : (requests - answered) / requests

const toKeylessText = (keyless: RequestRates['keyless']) =>
  `Without a valid key, by status: ${keyless
    .map(({ status, requests }) => `${status === 0 ? 'Broken off' : String(status)}: ${toCount(requests)}`)
    .join(', ')}.`
