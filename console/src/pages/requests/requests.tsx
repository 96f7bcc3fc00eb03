import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { RequestList, RequestRates, RequestView } from '../../../../src/admin/requests.ts'
import { DAY_MS, HOUR_MS } from '../../../../src/contract/time.ts'
import type { ApiError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'
import { Checkbox, Segments } from '../../components/field.tsx'
import { lazy } from '../../components/lazy.tsx'
import { KeyLink } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, isRefusal, LoadError, Loading, QueryResult } from '../../components/query-result.tsx'
import { NotRecorded, RequestRows } from '../../components/request-rows.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { toCount, toMoment, toShare, toWords } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { type FilterChanges, useFilters } from '../../route.ts'
import { type StreamState, useEventStream } from '../../use-event-stream.ts'
import { useQuery, useReloads } from '../../use-query.ts'
import { RequestFilters } from './request-filters.tsx'

const LIVE_STATES = {
  connecting: 'Connecting…',
  live: 'New requests are added',
  broken: 'Reconnecting…',
} as const

/** The filters of the list, as they are in the address and in the query. */
const LIST = ['request_id', 'request_reference', 'key', 'operation', 'status', 'code', 'mode', 'from', 'to']
const TIMES = ['from', 'to']

const RequestPage = lazy(async () => (await import('./request-page.tsx')).RequestPage)

export function Requests({ rest }: { rest: string }) {
  return rest === '' ? <RequestSearch /> : <RequestPage key={rest} id={rest} />
}

function RequestSearch() {
  const [filters, change] = useFilters()
  const toQuery = (names: readonly string[]) =>
    new URLSearchParams(
      [...filters].filter(([name, value]) => names.includes(name) && value !== ''),
    ).toString()
  const query = toQuery(LIST)
  const isLive = filters.get('live') === 'on'
  const pages = useRequestPages(query)
  const events = useRequestEvents(toQuery(LIST.filter((name) => !TIMES.includes(name))), isLive)
  const first = pages.value?.[0]
  return (
    <>
      <p class="dim">
        Requests of all keys, without personal data. They appear a few seconds after they were answered. The
        last seconds before a crash may be missing; the audit log has every verification.
      </p>
      {first?.recorded === false && <NotRecorded />}
      <RequestRatesPanel filters={filters} onChange={change} />
      <Panel title="Search">
        <RequestFilters
          key={query}
          filters={filters}
          options={first}
          onChange={change}
          error={pages.error && isRefusal(pages.error) ? pages.error : undefined}
        />
      </Panel>
      <Panel
        title="Requests, newest first"
        aside={
          <div class="bar push">
            {isLive && (
              <span class="dim" role="status">
                {LIVE_STATES[events.state]}
              </span>
            )}
            <Checkbox
              label="Live"
              isOn={isLive}
              onChange={(isOn) => change({ live: isOn ? 'on' : undefined })}
            />
          </div>
        }
      >
        {events.isCut && <p class="dim">There are more requests than can be shown live. Use a filter.</p>}
        <Results pages={pages} added={events.rows} query={query} />
      </Panel>
    </>
  )
}

type ResultsProps = {
  readonly pages: RequestPages
  /** Newest first. */
  readonly added: readonly RequestView[]
  readonly query: string
}

function Results({ pages: { value, error, isBusy, load, retry }, added, query }: ResultsProps) {
  // New requests are shown also while the list cannot be read.
  if (!value && !error && added.length === 0) return <Loading />
  const rows = toUnique([...added, ...(value ?? []).flatMap((page) => page.rows)])
  const { next, searched_back_to: searchedBackTo } = value?.at(-1) ?? NO_PAGE
  return (
    <>
      {error && !isRefusal(error) && <LoadError error={error} onRetry={retry} />}
      {isBusy && <progress class="thin" aria-label="Searching" />}
      {rows.length > 0 && <RequestRows rows={rows} query={query} />}
      {value && rows.length === 0 && (
        <Empty>
          <p>
            {query !== ''
              ? searchedBackTo
                ? 'No matches so far.'
                : 'No request matches.'
              : 'There are no requests yet.'}
          </p>
        </Empty>
      )}
      {searchedBackTo && (
        <p class="dim">Searched back to {toMoment(searchedBackTo)}; there is more before that.</p>
      )}
      {next !== null && (
        <button type="button" disabled={isBusy} aria-busy={isBusy} onClick={() => load(next)}>
          {searchedBackTo ? 'Search further back' : 'Older'}
        </button>
      )}
    </>
  )
}

const NO_PAGE: Pick<RequestList, 'next' | 'searched_back_to'> = { next: null, searched_back_to: null }

const toUnique = (rows: readonly RequestView[]) => [...new Map(rows.map((row) => [row.row, row])).values()]

const RANGES = {
  hour: { text: 'Last hour', ms: HOUR_MS },
  day: { text: 'Last day', ms: DAY_MS },
  week: { text: 'Last 7 days', ms: 7 * DAY_MS },
} as const

type KeyRateView = RequestRates['keys'][number]

type Range = keyof typeof RANGES

type RequestRatesProps = {
  readonly filters: URLSearchParams
  readonly onChange: (changes: FilterChanges) => void
}

/** Reads much more than a list. */
const RATES_MS = 30_000

/** What was not answered, by key. It follows the requests that are shown live. */
function RequestRatesPanel({ filters, onChange }: RequestRatesProps) {
  const given = filters.get('range') ?? ''
  const range: Range = given in RANGES ? (given as Range) : 'day'
  const query = useQuery<RequestRates>(`/admin/requests/rates?range=${range}`)
  useReloads(query, RATES_MS, filters.get('live') === 'on')
  return (
    <Panel
      title="Errors by key"
      aside={
        <div class="push">
          <Segments
            legend="Time range"
            value={range}
            options={Object.entries(RANGES).map(([value, { text }]) => ({ value: value as Range, text }))}
            onValue={(value) => onChange({ range: value })}
          />
        </div>
      }
    >
      <QueryResult query={query}>
        {({ recorded, keys, keyless }) => (
          <>
            {keys.length === 0 ? (
              <Empty>
                <p>
                  {recorded
                    ? 'No request with a valid key in this time.'
                    : 'The request log is off: nothing is counted.'}
                </p>
              </Empty>
            ) : (
              <Table
                label="Errors by key"
                file="errors-by-key"
                rows={keys}
                keyOf={({ key_id }) => key_id}
                columns={toColumns(range)}
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

function toColumns(range: Range): readonly Column<KeyRateView>[] {
  const from = new Date(Date.now() - RANGES[range].ms).toISOString()
  const toFound = (title: string, status: string, count: (rate: KeyRateView) => number) => ({
    title,
    isNumber: true,
    cell: (rate: KeyRateView) => (
      <a
        href={`${toHash('requests')}?${new URLSearchParams({ key: rate.key_id, status, from, range })}`}
        aria-label={`${toCount(count(rate))} requests of ${rate.key_id}: ${title}`}
      >
        {toCount(count(rate))}
      </a>
    ),
  })
  return [
    {
      title: 'Key',
      cell: ({ key_id, key_name }) => <KeyLink id={key_id} name={key_name} />,
      exported: { Key: ({ key_name }) => key_name, 'Key id': ({ key_id }) => key_id },
    },
    { title: 'Requests', isNumber: true, cell: ({ requests }) => toCount(requests) },
    { title: 'Not answered', isNumber: true, cell: (rate) => toShare(toErrorShare(rate)) },
    toFound('Refused (4xx)', 'refused', ({ refused }) => refused),
    toFound('Failed (5xx)', '5xx', ({ failed }) => failed),
    toFound('Broken off', '0', ({ broken_off }) => broken_off),
    { title: 'Most frequent', cell: ({ codes }) => (codes[0] ? toWords(codes[0].code) : '–') },
  ]
}

const toErrorShare = ({ requests, answered }: KeyRateView) =>
  requests === 0 ? null : (requests - answered) / requests

const toKeylessText = (keyless: RequestRates['keyless']) =>
  `Without a valid key, by status: ${keyless
    .map(({ status, requests }) => `${status === 0 ? 'Broken off' : String(status)}: ${toCount(requests)}`)
    .join(', ')}.`

type RequestEvents = {
  readonly state: StreamState
  /** Newest first. */
  readonly rows: readonly RequestView[]
  /** There were more than are shown. */
  readonly isCut: boolean
}

type Message = { readonly rows: readonly RequestView[]; readonly is_cut: boolean }

/** So many rows stay on the page. */
const MAX_ROWS = 500
const NONE: Omit<RequestEvents, 'state'> = { rows: [], isCut: false }

/** New requests that match a query, while `isOn`. */
function useRequestEvents(query: string, isOn: boolean): RequestEvents {
  const [events, setEvents] = useState(NONE)
  useEffect(() => setEvents(NONE), [query, isOn])
  const path = isOn ? `/admin/requests/events?${query}` : undefined
  const state = useEventStream(path, 'requests', (data) => {
    const { rows, is_cut: isCut } = JSON.parse(data) as Message
    setEvents((old) => ({ rows: [...rows.toReversed(), ...old.rows].slice(0, MAX_ROWS), isCut }))
  })
  return { state, ...events }
}

type RequestPages = {
  readonly value: readonly RequestList[] | undefined
  readonly error: ApiError | undefined
  readonly isBusy: boolean
  /** The page before a cursor, or the first one. */
  readonly load: (before: string | undefined) => void
  /** Loads what was asked for last. */
  readonly retry: () => void
}

/** Collects pages of the request log; another query starts over. */
function useRequestPages(query: string): RequestPages {
  const { api, reconnects } = useAppContext()
  const [found, setFound] = useState<{ query: string; pages: readonly RequestList[] }>()
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const latest = useRef(0)
  const asked = useRef<string | undefined>(undefined)
  const load = useCallback(
    async (before: string | undefined) => {
      latest.current += 1
      const own = latest.current
      asked.current = before
      setBusy(true)
      const cursor = before === undefined ? '' : `&before=${encodeURIComponent(before)}`
      try {
        const page = await api.get<RequestList>(`/admin/requests?${query}${cursor}`)
        if (own !== latest.current) return
        setFound((old) => ({ query, pages: before === undefined ? [page] : [...(old?.pages ?? []), page] }))
        setError(undefined)
      } catch (thrown) {
        if (own !== latest.current) return
        setError(thrown as ApiError)
        // What another query found must not stand under this one.
        setFound((old) => (old?.query === query ? old : undefined))
      } finally {
        if (own === latest.current) setBusy(false)
      }
    },
    [api, query],
  )
  useEffect(() => {
    load(undefined)
  }, [load, reconnects])
  const retry = useCallback(() => void load(asked.current), [load])
  return { value: found?.pages, error, isBusy, load, retry }
}
