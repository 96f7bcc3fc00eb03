import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { AuditRowView, AuditSearch, AuditSearchResult } from '../../../src/admin/shapes/audit.ts'
import type { ApiError } from '../api-client.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { AuditForm } from '../components/audit-form.tsx'
import { AuditTimelinePanel } from '../components/audit-timeline.tsx'
import { ChainCheckPanel } from '../components/chain-check.tsx'
import { Panel } from '../components/panel.tsx'
import { Pill, toOutcomeTone } from '../components/pill.tsx'
import { Empty, LoadError, Loading } from '../components/query-result.tsx'
import { Table } from '../components/table.tsx'
import { When } from '../components/when.tsx'
import { toMoment, toOperation, toWords } from '../format.ts'
import { findKeySearch, toHash } from '../hash.ts'

/** `rest` is empty, `key=ID` (a search) or a reference (a timeline). */
export function Audit({ rest }: { rest: string }) {
  const keyId = findKeySearch(rest)
  if (rest === '' || keyId !== undefined) return <Search key={rest} keyId={keyId ?? ''} />
  return <AuditTimelinePanel reference={rest} />
}

function Search({ keyId }: { keyId: string }) {
  const found = useSearch(keyId)
  const canExport = useHasRole('operator')
  return (
    <>
      <ChainCheckPanel />
      <Panel
        title="Search"
        aside={
          canExport && (
            <a class="button push" href="/admin/audit/export" download>
              Export all rows
            </a>
          )
        }
      >
        <AuditForm
          keyId={keyId}
          outcomes={found.options.outcomes}
          phases={found.options.phases}
          isBusy={found.isBusy}
          error={found.error}
          onSearch={found.search}
        />
      </Panel>
      <Panel title="Rows, newest first">
        <Results found={found} />
      </Panel>
    </>
  )
}

type FormOptions = Pick<AuditSearchResult, 'outcomes' | 'phases'>

/** Collects pages of results; a new search starts over. */
function useSearch(keyId: string) {
  const { api } = useAppContext()
  const [pages, setPages] = useState<readonly AuditSearchResult[]>()
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const filter = useRef<AuditSearch>(keyId === '' ? {} : { key_id: keyId })
  const latest = useRef(0)
  const load = useCallback(
    async (before: string | undefined) => {
      latest.current += 1
      const own = latest.current
      setBusy(true)
      setError(undefined)
      try {
        const body = before === undefined ? filter.current : { ...filter.current, before }
        const page = await api.post<AuditSearchResult>('/admin/audit/search', body)
        if (own !== latest.current) return
        setPages((old = []) => (before === undefined ? [page] : [...old, page]))
      } catch (thrown) {
        if (own === latest.current) setError(thrown as ApiError)
      } finally {
        if (own === latest.current) setBusy(false)
      }
    },
    [api],
  )
  useEffect(() => {
    load(undefined)
  }, [load])
  const search = (next: AuditSearch) => {
    filter.current = next
    load(undefined)
  }
  const options: FormOptions = pages?.[0] ?? { outcomes: [], phases: [] }
  return { pages, error, isBusy, search, load, options, isFiltered: Object.keys(filter.current).length > 0 }
}

function Results({ found }: { found: ReturnType<typeof useSearch> }) {
  const { pages, error, isBusy, load, isFiltered } = found
  if (!pages) return error ? <LoadError error={error} onRetry={() => load(undefined)} /> : <Loading />
  const rows = pages.flatMap((page) => page.rows)
  const { next = null, searched_back_to = null } = pages.at(-1) ?? {}
  return (
    <>
      {isBusy && <progress class="thin" aria-label="Searching" />}
      {rows.length === 0 && (
        <Empty>
          {isFiltered ? (
            <p>{searched_back_to ? 'No matches so far.' : 'No rows match this search.'}</p>
          ) : (
            <p>The log is empty. Every verification writes to it.</p>
          )}
        </Empty>
      )}
      {rows.length > 0 && <Rows rows={rows} />}
      {searched_back_to && (
        <p class="dim">Searched back to {toMoment(searched_back_to)}; there is more before that.</p>
      )}
      {next !== null && (
        <button type="button" disabled={isBusy} aria-busy={isBusy} onClick={() => load(next)}>
          {searched_back_to ? 'Search further back' : 'Older'}
        </button>
      )}
    </>
  )
}

function Rows({ rows }: { rows: readonly AuditRowView[] }) {
  return (
    <Table
      label="Rows of the audit log"
      rows={rows}
      keyOf={({ chain, sequence }) => `${chain} ${sequence}`}
      columns={[
        { title: 'Time', cell: ({ time }) => <When at={time} to="second" /> },
        { title: 'Phase', cell: ({ phase }) => <span class="nowrap">{toWords(phase)}</span> },
        {
          title: 'Operation',
          cell: ({ operation }) => (
            <span class="nowrap">{operation === null ? '–' : toOperation(operation)}</span>
          ),
        },
        {
          title: 'Outcome',
          cell: ({ outcome }) =>
            outcome === null ? '–' : <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>,
        },
        { title: 'Key', cell: ({ key_id }) => (key_id === null ? '–' : <code>{key_id}</code>) },
        {
          title: 'Reference',
          cell: ({ request_reference: reference }) =>
            reference === null ? (
              '–'
            ) : (
              <a href={toHash('audit', reference)}>
                <code class="clip">{reference}</code>
              </a>
            ),
        },
        { title: 'Detail', cell: ({ detail }) => <span class="clip">{detail ?? ''}</span> },
      ]}
    />
  )
}
