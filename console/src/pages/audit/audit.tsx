import { useEffect, useState } from 'preact/hooks'
import type {
  AuditOptions,
  AuditRowView,
  AuditSearchResult,
  VerificationSearchResult,
  VerificationView,
} from '../../../../src/admin/audit.ts'
import type { ChainCheck } from '../../../../src/admin/chain-check.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { ErrorNote } from '../../components/error-note.tsx'
import { Segments } from '../../components/field.tsx'
import { FileField } from '../../components/file-field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill, toOutcomeTone } from '../../components/pill.tsx'
import { Empty, LoadError, Loading, QueryResult } from '../../components/query-result.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toMoment, toMs, toOperation, toWords } from '../../format.ts'
import { findKeySearch, toHash } from '../../hash.ts'
import { useFilters } from '../../route.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { AuditForm } from './audit-form.tsx'
import { AuditTimelinePanel } from './audit-timeline.tsx'
import {
  AUDIT_FILTERS,
  type AuditFilters,
  type AuditPage,
  type AuditView,
  countOf,
  readAuditFilters,
  readView,
  type TypedNumber,
  toExtractUrl,
  useAuditSearch,
} from './use-audit-search.ts'

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
        {!found.error && <Exports view={view} filters={filters} isEmpty={isEmpty(found)} />}
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

/** The search has ended and found nothing. */
const isEmpty = ({ pages = [], isBusy, error }: ReturnType<typeof useAuditSearch>) =>
  !isBusy && !error && pages.at(-1)?.next === null && pages.every((page) => countOf(page) === 0)

type ExportsProps = { readonly view: AuditView; readonly filters: AuditFilters; readonly isEmpty: boolean }

/** Links, because the browser then writes the file while it arrives. */
function Exports({ view, filters, isEmpty }: ExportsProps) {
  const canExport = useHasRole('operator')
  if (!canExport) return null
  if (isEmpty) return <p class="dim">There is nothing to export: a file of this search would have no rows.</p>
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

type Common = Pick<AuditRowView, 'operation' | 'outcome' | 'key_id' | 'key_name'>

/** Columns that verifications and rows have in common. */
const OPERATION: Column<Common> = {
  title: 'Operation',
  cell: ({ operation }) => <span class="nowrap">{operation === null ? '–' : toOperation(operation)}</span>,
}
const KEY: Column<Common> = {
  title: 'Key',
  cell: ({ key_id, key_name }) =>
    key_id === null ? (
      '–'
    ) : (
      <a class="clip" href={`${toHash('audit')}?${new URLSearchParams({ key: key_id })}`} title={key_id}>
        {key_name ?? key_id}
      </a>
    ),
}

const toOutcome = (outcome: string | null, otherwise: string) =>
  outcome === null ? (
    <span class="dim">{otherwise}</span>
  ) : (
    <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>
  )

const toReference = (reference: string | null) =>
  reference === null ? (
    '–'
  ) : (
    <a href={toHash('audit', reference)}>
      <code class="clip">{reference}</code>
    </a>
  )

function VerificationTable({ verifications }: { verifications: readonly VerificationView[] }) {
  return (
    <Table
      label="Verifications that fit the search"
      isGrowing
      rows={verifications}
      keyOf={({ reference }) => reference}
      columns={[
        { title: 'Started', cell: ({ started_at }) => <When at={started_at} to="second" /> },
        OPERATION,
        { title: 'Outcome', cell: ({ outcome }) => toOutcome(outcome, 'none yet') },
        KEY,
        { title: 'Sources', cell: toSources },
        { title: 'Took', isNumber: true, cell: toDuration },
        {
          title: 'Consent',
          cell: ({ consent_reference }) => <span class="clip">{consent_reference ?? '–'}</span>,
        },
        { title: 'Reference', cell: ({ reference }) => toReference(reference) },
      ]}
    />
  )
}

const toSources = ({ source_attempts }: VerificationView) =>
  source_attempts.length === 0
    ? '–'
    : source_attempts.map(({ name, result }) => `${name}: ${toWords(result)}`).join(', ')

const toDuration = ({ started_at, ended_at }: VerificationView) =>
  toMs(ended_at === null ? null : Math.max(0, Date.parse(ended_at) - Date.parse(started_at)))

function RowTable({ rows }: { rows: readonly AuditRowView[] }) {
  return (
    <Table
      label="Rows of the audit log"
      isGrowing
      rows={rows}
      keyOf={({ chain, sequence }) => `${chain} ${sequence}`}
      columns={[
        { title: 'Time', cell: ({ time }) => <When at={time} to="second" /> },
        { title: 'Phase', cell: ({ phase }) => <span class="nowrap">{toWords(phase)}</span> },
        OPERATION,
        { title: 'Outcome', cell: ({ outcome }) => toOutcome(outcome, '–') },
        KEY,
        { title: 'Reference', cell: ({ request_reference }) => toReference(request_reference) },
        { title: 'Detail', cell: ({ detail }) => <span class="clip">{detail ?? ''}</span> },
      ]}
    />
  )
}

const PAUSE_MS = 1000

function ChainCheckPanel() {
  const { api } = useAppContext()
  const isOperator = useHasRole('operator')
  const query = useQuery<ChainCheck>('/admin/audit/check')
  const start = useMutation(async (file?: File) => {
    if (file) await api.upload('/admin/audit/check/file', file, { type: 'application/x-ndjson', key: '' })
    else await api.post('/admin/audit/check')
    query.reload()
  })
  const { value, reload } = query
  // Every response is a new value, so this repeats until the verification ends.
  useEffect(() => {
    if (value?.state !== 'running') return
    const timer = setTimeout(reload, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value, reload])
  const isBusy = start.isBusy || value?.state === 'running'
  return (
    <Panel
      title="Verify the log against its checkpoints"
      aside={
        isOperator && (
          <button type="button" class="push" disabled={isBusy} aria-busy={isBusy} onClick={() => start.run()}>
            Verify the log
          </button>
        )
      }
    >
      <ErrorNote error={start.error} />
      <QueryResult query={query} lines={2}>
        {(check) => <Verdict check={check} />}
      </QueryResult>
      {isOperator && <KeptCopy isBusy={isBusy} onFile={start.run} />}
    </Panel>
  )
}

/** A copy of the checkpoints that this server cannot have changed. */
function KeptCopy({ isBusy, onFile }: { isBusy: boolean; onFile: (file: File) => void }) {
  const [file, setFile] = useState<File>()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (file) onFile(file)
      }}
    >
      <FileField
        label="A checkpoints.log that was kept elsewhere"
        help="Compares the log with this file instead of the one of this server. At most 80 MB, not compressed."
        accept=".log,.ndjson,.txt"
        onFile={setFile}
      />
      <button type="submit" disabled={isBusy || !file} aria-busy={isBusy}>
        Compare with this file
      </button>
    </form>
  )
}

function Verdict({ check }: { check: ChainCheck }) {
  const { state, rows, total } = check
  if (state === 'none')
    return (
      <p class="dim">
        Not verified since this server started. Verification reads every row and finds rows that were changed,
        inserted or removed, but a cut at the end of the log together with its checkpoints cannot be seen
        without checkpoints that were kept elsewhere. Keep copies of checkpoints.log on another machine, and
        compare with one here or with <code>tabbat audit verify --checkpoints FILE</code>.
      </p>
    )
  if (state === 'running')
    return (
      <>
        <progress value={rows} max={Math.max(total, rows, 1)} aria-label="Rows verified" />
        <p class="dim">{total === 0 ? 'Starting…' : `${toCount(rows)} of ${toCount(total)} rows`}</p>
      </>
    )
  const isSound = state === 'sound'
  return (
    <div class={`note ${isSound ? 'good' : 'bad'}`} role={isSound ? 'status' : 'alert'}>
      <p>
        <b>{check.headline}</b>
      </p>
      <Sentences sentences={check.compared} />
      <Sentences sentences={check.limits} />
      <Measure check={check} />
    </div>
  )
}

const Sentences = ({ sentences }: { sentences: readonly string[] }) =>
  sentences.length === 0 ? null : (
    <ul>
      {sentences.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )

function Measure({ check }: { check: ChainCheck }) {
  const { seconds, started_at, started_by } = check
  return (
    <small>
      {seconds.toFixed(1)} s. Started <When at={started_at} />
      {started_by && ` by ${started_by}`}.
    </small>
  )
}
