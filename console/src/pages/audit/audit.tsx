import { useEffect } from 'preact/hooks'
import type {
  AuditOptions,
  AuditSearchResult,
  VerificationSearchResult,
} from '../../../../src/admin/audit.ts'
import { useHasRole } from '../../app-context.ts'
import { Segments } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, LoadError, Loading } from '../../components/query-result.tsx'
import { toCount, toMoment } from '../../format.ts'
import { findKeySearch, toHash } from '../../hash.ts'
import { useFilters } from '../../route.ts'
import { useQuery } from '../../use-query.ts'
import {
  AUDIT_FILTERS,
  type AuditFilters,
  type AuditView,
  readAuditFilters,
  readView,
  toExtractUrl,
} from './audit-filters.ts'
import { AuditForm } from './audit-form.tsx'
import { RowTable, VerificationTable } from './audit-tables.tsx'
import { AuditTimelinePanel } from './audit-timeline.tsx'
import { ChainCheckPanel } from './chain-check.tsx'
import { type AuditPage, type TypedNumber, useAuditSearch } from './use-audit-search.ts'

/** `rest` is empty (a search, with its filters in the address), `key=ID` or a reference (a timeline). */
export function Audit({ rest }: { rest: string }) {
  const keyId = findKeySearch(rest)
  useEffect(() => {
    if (keyId !== undefined) location.replace(`${toHash('audit')}?${new URLSearchParams({ key: keyId })}`)
  }, [keyId])
  if (keyId !== undefined) return <Loading />
  return rest === '' ? <Search /> : <AuditTimelinePanel reference={rest} />
}

const VIEWS = [
  { value: 'verifications', text: 'Verifications' },
  { value: 'rows', text: 'Single rows' },
] as const

function Search() {
  const [address, changeAddress] = useFilters()
  const view = readView(address)
  const filters = readAuditFilters(address)
  const found = useAuditSearch(view, filters)
  const options = useQuery<AuditOptions>('/admin/audit/options')
  const setFilters = (next: AuditFilters) =>
    changeAddress(Object.fromEntries(AUDIT_FILTERS.map((name) => [name, next[name]])))
  const search = async (next: AuditFilters, number: TypedNumber | undefined) => {
    if (!number) return setFilters(next)
    const { person: _, ...others } = next
    const person = await found.searchNumber(others, number)
    if (person !== undefined) setFilters({ ...others, person })
  }
  return (
    <>
      <ChainCheckPanel />
      <Panel
        title="Search"
        aside={
          <Segments
            legend="What is listed"
            value={view}
            options={VIEWS}
            onValue={(next) => changeAddress({ view: next === 'rows' ? next : '' })}
          />
        }
      >
        <AuditForm
          view={view}
          filters={filters}
          options={options.value}
          isBusy={found.isBusy}
          error={found.error}
          onSearch={search}
        />
      </Panel>
      <Panel title={view === 'rows' ? 'Rows, newest first' : 'Verifications, newest first'}>
        <Results found={found} />
        <Exports view={view} filters={filters} />
      </Panel>
    </>
  )
}

function Results({ found }: { found: ReturnType<typeof useAuditSearch> }) {
  const { pages, error, isBusy, isFiltered, loadMore, reload, stop } = found
  if (!pages) return error ? <LoadError error={error} onRetry={reload} /> : <Loading />
  const { next = null, searched_back_to = null, archives_note = null } = pages.at(-1) ?? {}
  const rows = toCount(pages.reduce((sum, page) => sum + page.searched_rows, 0))
  return (
    <>
      {isBusy && <progress class="thin" aria-label="Searching" />}
      <Listed pages={pages} isFiltered={isFiltered} isCut={searched_back_to !== null} />
      <p class="dim" role="status">
        {searched_back_to
          ? `Read ${rows} rows, back to ${toMoment(searched_back_to)}. There is more before that.`
          : `Read ${rows} rows of the log.`}
        {archives_note !== null && ` ${archives_note}`}
      </p>
      {next !== null && (
        <div class="bar">
          <button type="button" disabled={isBusy} aria-busy={isBusy} onClick={() => loadMore(next)}>
            {searched_back_to ? 'Search further back' : 'Older'}
          </button>
          {isBusy && (
            <button type="button" class="plain" onClick={stop}>
              Stop
            </button>
          )}
        </div>
      )}
    </>
  )
}

type ListedProps = {
  readonly pages: readonly AuditPage[]
  readonly isFiltered: boolean
  readonly isCut: boolean
}

function Listed({ pages, isFiltered, isCut }: ListedProps) {
  const rows = pages.flatMap((page) => (page as Partial<AuditSearchResult>).rows ?? [])
  const verifications = pages.flatMap(
    (page) => (page as Partial<VerificationSearchResult>).verifications ?? [],
  )
  if (rows.length > 0) return <RowTable rows={rows} />
  if (verifications.length > 0) return <VerificationTable verifications={verifications} />
  const none = isCut ? 'No matches so far.' : 'Nothing fits this search.'
  return (
    <Empty>
      <p>{isFiltered ? none : 'The log is empty. Every verification writes to it.'}</p>
    </Empty>
  )
}

/** Links, because the browser then writes the file while it arrives. */
function Exports({ view, filters }: { view: AuditView; filters: AuditFilters }) {
  const canExport = useHasRole('operator')
  if (!canExport) return null
  return (
    <div class="field">
      <div class="bar">
        <span>Export what is listed</span>
        <a class="button small" href={toExtractUrl(view, filters, 'csv')} download>
          CSV
        </a>
        <a class="button small" href={toExtractUrl(view, filters, 'ndjson')} download>
          NDJSON
        </a>
        <a class="button small" href="/admin/audit/export" download>
          All rows
        </a>
      </div>
      <small class="dim">
        CSV and NDJSON hold what the search finds, the filter, signed checkpoints and a signature. Check such
        a file without a database: <code>tabbat audit verify-extract FILE --public-key KEY</code>
      </small>
    </div>
  )
}
