import { Fragment } from 'preact'
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
import { LinkedText, Reference, SourceLink } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill, toOutcomeTone } from '../../components/pill.tsx'
import { Empty, isRefusal, LoadError, Loading, QueryResult } from '../../components/query-result.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toMoment, toMs, toOperation, toWords } from '../../format.ts'
import { findKeySearch, toHash } from '../../hash.ts'
import { useFilters } from '../../route.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { AuditChips, AuditForm, Exports, isEmpty } from './audit-form.tsx'
import { AuditTimelinePanel, DIFFERENCES, NO_REFERENCE } from './audit-timeline.tsx'
import {
  AUDIT_FILTERS,
  type AuditFilters,
  type AuditPage,
  readAuditFilters,
  readView,
  type TypedNumber,
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
  const [isOpen, setOpen] = useState(false)
  const options = useQuery<AuditOptions>('/admin/audit/options')
  const refusal = found.error && isRefusal(found.error) ? found.error : undefined
  const setFilters = (next: AuditFilters) =>
    changeAddress(Object.fromEntries(AUDIT_FILTERS.map((name) => [name, next[name]])))
  const search = async (next: AuditFilters, number: TypedNumber | undefined) => {
    setOpen(false)
    if (!number) return setFilters(next)
    const { person: _, ...others } = next
    const person = await found.searchNumber(others, number)
    if (person !== undefined) setFilters({ ...others, person })
  }
  return (
    <>
      <Panel
        title={view === 'rows' ? 'Rows, newest first' : 'Verifications, newest first'}
        aside={
          <Segments
            legend="What is listed"
            value={view}
            options={VIEWS}
            onValue={(next) => changeAddress({ view: next === 'rows' ? next : '' })}
          />
        }
      >
        <AuditChips filters={filters} options={options.value} onFilters={setFilters} />
        <details
          open={isOpen || refusal !== undefined}
          onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
        >
          <summary>Filter by key, person, outcome, purpose…</summary>
          <AuditForm
            view={view}
            filters={filters}
            options={options.value}
            error={refusal}
            onSearch={search}
          />
        </details>
        <UnrecordedNote outcome={filters.outcome} />
        <Results found={found} reference={filters.reference} />
        {!found.error && <Exports view={view} filters={filters} isEmpty={isEmpty(found)} />}
      </Panel>
      <section class="panel">
        <details>
          <summary>Verify the log against its checkpoints</summary>
          <ChainCheckPanel />
        </details>
      </section>
    </>
  )
}

type ResultsProps = {
  readonly found: ReturnType<typeof useAuditSearch>
  readonly reference: string | undefined
}

function Results({ found, reference }: ResultsProps) {
  const { pages, error, isBusy, isFiltered, loadMore, reload, stop } = found
  if (!pages) return error ? <LoadError error={error} onRetry={reload} /> : <Loading />
  if (error && !isRefusal(error)) return <LoadError error={error} onRetry={reload} />
  const { next = null, searched_back_to = null, archives_note = null } = pages.at(-1) ?? {}
  const rows = toCount(pages.reduce((sum, page) => sum + page.searched_rows, 0))
  return (
    <>
      {isBusy && <progress class="thin" aria-label="Searching" />}
      <Listed pages={pages} isFiltered={isFiltered} isCut={searched_back_to !== null} reference={reference} />
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
  readonly reference: string | undefined
}

function Listed({ pages, isFiltered, isCut, reference }: ListedProps) {
  const rows = pages.flatMap((page) => (page as Partial<AuditSearchResult>).rows ?? [])
  const verifications = pages.flatMap(
    (page) => (page as Partial<VerificationSearchResult>).verifications ?? [],
  )
  if (rows.length > 0) return <RowTable rows={rows} />
  if (verifications.length > 0) return <VerificationTable verifications={verifications} />
  const nothing =
    reference === undefined
      ? 'Nothing fits this search.'
      : `${NO_REFERENCE} Other filters may exclude it, too.`
  const none = isCut ? 'No matches so far.' : nothing
  return (
    <Empty>
      <p>{isFiltered ? none : 'The log is empty. Every verification writes to it.'}</p>
      {reference !== undefined && (
        <p>
          <a href={toHash('audit', reference)}>What the request log knows of this reference</a>
        </p>
      )}
    </Empty>
  )
}

/** Outcomes that a direct request gets without a row. */
const UNRECORDED = ['too_many_attempts', 'quota_exceeded']

function UnrecordedNote({ outcome = '' }: { outcome: string | undefined }) {
  if (!UNRECORDED.includes(outcome)) return null
  return (
    <p class="dim">
      Only pending verifications and rows of batches end so in the audit log. A direct request that was
      refused with 429 is not written: no person was looked up. It is on the page{' '}
      <a href={`${toHash('requests')}?code=${outcome}`}>Requests</a>.
    </p>
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
      <a class="clip" href={toHash('keys', key_id)} title={key_id}>
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
        {
          title: 'Outcome',
          cell: ({ outcome, difference }) => (
            <>
              {toOutcome(outcome, 'none yet')}{' '}
              {difference && <small class="dim">{DIFFERENCES[difference]}</small>}
            </>
          ),
        },
        KEY,
        { title: 'Sources', cell: toSources },
        { title: 'Took', isNumber: true, cell: toDuration },
        { title: 'Purpose', cell: ({ purpose }) => <span class="clip">{purpose ?? '–'}</span> },
        {
          title: 'Consent',
          cell: ({ consent_reference }) => <span class="clip">{consent_reference ?? '–'}</span>,
        },
        { title: 'Reference', cell: ({ reference }) => <Reference text={reference} /> },
      ]}
    />
  )
}

const toSources = ({ source_attempts }: VerificationView) =>
  source_attempts.length === 0
    ? '–'
    : source_attempts.map(({ name, result }, index) => (
        <Fragment key={index}>
          {index > 0 && ', '}
          <SourceLink name={name} />: {toWords(result)}
        </Fragment>
      ))

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
        { title: 'Reference', cell: ({ request_reference }) => <Reference text={request_reference} /> },
        {
          title: 'Detail',
          cell: ({ detail }) => (
            <span class="clip">
              <LinkedText text={detail ?? ''} />
            </span>
          ),
        },
      ]}
    />
  )
}

const PAUSE_MS = 1000

/** Checks the whole log, also against a copy of its checkpoints. */
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
    <>
      {isOperator && (
        <button type="button" disabled={isBusy} aria-busy={isBusy} onClick={() => start.run()}>
          Verify the log
        </button>
      )}
      <ErrorNote error={start.error} />
      <QueryResult query={query} lines={2}>
        {(check) => <Verdict check={check} />}
      </QueryResult>
      {isOperator && <KeptCopy isBusy={isBusy} onFile={start.run} />}
    </>
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
