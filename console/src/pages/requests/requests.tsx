import { useState } from 'preact/hooks'
import type { RequestList, RequestView } from '../../../../src/admin/requests.ts'
import { Checkbox } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, LoadError, Loading } from '../../components/query-result.tsx'
import { RequestRows } from '../../components/request-rows.tsx'
import { toMoment } from '../../format.ts'
import { useFilters } from '../../route.ts'
import { RequestDialog } from './request-dialog.tsx'
import { RequestFilters } from './request-filters.tsx'
import { RequestRatesPanel } from './request-rates.tsx'
import { useRequestEvents } from './use-request-events.ts'
import { type RequestPages, useRequestPages } from './use-request-pages.ts'

const LIVE_STATES = {
  connecting: 'Connecting…',
  live: 'New requests are added',
  broken: 'Reconnecting…',
} as const

/** The filters of the list, as they are in the address and in the query. */
const LIST = [
  'request_id',
  'request_reference',
  'key_id',
  'operation',
  'status',
  'code',
  'mode',
  'from',
  'to',
]
const TIMES = ['from', 'to']

export function Requests() {
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
      {first?.recorded === false && (
        <div class="note warn">
          <p>
            The request log is off. Set <code>TABBAT_REQUESTS_KEEP</code> to a time, for example 7d, and
            restart the server.
          </p>
        </div>
      )}
      <RequestRatesPanel filters={filters} onChange={change} />
      <Panel title="Search">
        <RequestFilters key={query} filters={filters} options={first} onChange={change} error={pages.error} />
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
        <Results pages={pages} added={events.rows} isFiltered={query !== ''} />
      </Panel>
    </>
  )
}

type ResultsProps = {
  readonly pages: RequestPages
  /** Newest first. */
  readonly added: readonly RequestView[]
  readonly isFiltered: boolean
}

function Results({ pages: { value, error, isBusy, load }, added, isFiltered }: ResultsProps) {
  const [open, setOpen] = useState<RequestView>()
  if (!value) return error ? <LoadError error={error} onRetry={() => load(undefined)} /> : <Loading />
  const rows = toUnique([...added, ...value.flatMap((page) => page.rows)])
  const { next, searched_back_to: searchedBackTo, commands } = value.at(-1) as RequestList
  return (
    <>
      {isBusy && <progress class="thin" aria-label="Searching" />}
      {rows.length === 0 ? (
        <Empty>
          <p>
            {isFiltered
              ? searchedBackTo
                ? 'No matches so far.'
                : 'No request matches.'
              : 'There are no requests yet.'}
          </p>
        </Empty>
      ) : (
        <RequestRows rows={rows} onOpen={setOpen} />
      )}
      {searchedBackTo && (
        <p class="dim">Searched back to {toMoment(searchedBackTo)}; there is more before that.</p>
      )}
      {next !== null && (
        <button type="button" disabled={isBusy} aria-busy={isBusy} onClick={() => load(next)}>
          {searchedBackTo ? 'Search further back' : 'Older'}
        </button>
      )}
      {open && (
        <RequestDialog request={open} command={commands[open.operation]} onClose={() => setOpen(undefined)} />
      )}
    </>
  )
}

const toUnique = (rows: readonly RequestView[]) => [...new Map(rows.map((row) => [row.row, row])).values()]
