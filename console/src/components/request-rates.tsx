import type { RequestRates } from '../../../src/admin/shapes/requests.ts'
import { toCount, toShare, toWords } from '../format.ts'
import type { FilterChanges } from '../route.ts'
import { requestsTexts as texts } from '../texts/en/requests.ts'
import { useQuery } from '../use-query.ts'
import { Segments } from './field.tsx'
import { Panel } from './panel.tsx'
import { Empty, QueryResult } from './query-result.tsx'
import { KeyText } from './request-rows.tsx'
import { type Column, Table } from './table.tsx'

type KeyRateView = RequestRates['keys'][number]

type Range = keyof typeof texts.ranges

type RequestRatesProps = {
  readonly filters: URLSearchParams
  readonly onChange: (changes: FilterChanges) => void
}

/** What was not answered, by key. */
export function RequestRatesPanel({ filters, onChange }: RequestRatesProps) {
  const given = filters.get('range') ?? ''
  const range: Range = given in texts.ranges ? (given as Range) : 'day'
  const query = useQuery<RequestRates>(`/admin/requests/rates?range=${range}`)
  return (
    <Panel
      title={texts.rates}
      aside={
        <div class="push">
          <Segments
            legend={texts.range}
            value={range}
            options={Object.entries(texts.ranges).map(([value, text]) => ({ value: value as Range, text }))}
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
                <p>{texts.noRates}</p>
              </Empty>
            ) : (
              <Table
                label={texts.rates}
                rows={keys}
                keyOf={({ key_id }) => key_id}
                columns={toColumns((key_id) => onChange({ key_id }))}
              />
            )}
            <p class="dim">{texts.ratesHelp}</p>
            {keyless.length > 0 && <p class="dim">{toKeylessText(keyless)}</p>}
          </>
        )}
      </QueryResult>
    </Panel>
  )
}

const toColumns = (onKey: (keyId: string) => void): readonly Column<KeyRateView>[] => [
  {
    title: texts.key,
    cell: (rate) => (
      <button
        type="button"
        class="link"
        title={texts.toShowLabel(rate.key_name ?? rate.key_id)}
        onClick={() => onKey(rate.key_id)}
      >
        <KeyText {...rate} />
      </button>
    ),
  },
  { title: texts.requests, isNumber: true, cell: ({ requests }) => toCount(requests) },
  { title: texts.errorRate, isNumber: true, cell: (rate) => toShare(toErrorShare(rate)) },
  { title: texts.refused, isNumber: true, cell: ({ refused }) => toCount(refused) },
  { title: texts.failed, isNumber: true, cell: ({ failed }) => toCount(failed) },
  { title: texts.brokenOff, isNumber: true, cell: ({ broken_off }) => toCount(broken_off) },
  { title: texts.topCode, cell: ({ top_code }) => (top_code === null ? '–' : toWords(top_code)) },
]

const toErrorShare = ({ requests, answered }: KeyRateView) =>
  requests === 0 ? null : (requests - answered) / requests

const toKeylessText = (keyless: RequestRates['keyless']) =>
  texts.toKeyless(
    keyless
      .map(({ status, requests }) =>
        texts.toKeylessCount(status === 0 ? texts.brokenOff : String(status), toCount(requests)),
      )
      .join(', '),
  )
