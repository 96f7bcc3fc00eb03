import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { AuditOptions } from '../../../../src/admin/audit.ts'
import type { ExtractCheck } from '../../../../src/admin/audit-export.ts'
import type { ApiError } from '../../api-client.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField, SelectField, TextField } from '../../components/field.tsx'
import { FileField } from '../../components/file-field.tsx'
import { KeyField } from '../../components/key-field.tsx'
import { toLabel, toMoment, toOperation } from '../../format.ts'
import { NUMBER_KINDS } from '../../number-kinds.ts'
import { useMutation } from '../../use-mutation.ts'
import type { TypedNumber } from './use-audit-search.ts'
import {
  AUDIT_FILTERS,
  type AuditFilters,
  type AuditView,
  countOf,
  fromLocalInput,
  toExtractUrl,
  toLocalInput,
  type useAuditSearch,
} from './use-audit-search.ts'

/** What the form shows: the filters of the address, with local times, and a number that is never in the address. */
type Draft = AuditFilters & { readonly kind: TypedNumber['kind']; readonly number: string }

const toDraft = (filters: AuditFilters): Draft => ({
  ...filters,
  from: toLocalInput(filters.from),
  to: toLocalInput(filters.to),
  kind: 'nin',
  number: '',
})

function toFilters(draft: Draft): AuditFilters {
  const times = { from: fromLocalInput(draft.from ?? ''), to: fromLocalInput(draft.to ?? '') }
  const given = { ...draft, ...times }
  return Object.fromEntries(
    AUDIT_FILTERS.flatMap((name) => {
      const value = given[name]?.trim()
      return value ? [[name, value]] : []
    }),
  )
}

type AuditFormProps = {
  readonly view: AuditView
  readonly filters: AuditFilters
  readonly options: AuditOptions | undefined
  readonly error: ApiError | undefined
  readonly onSearch: (filters: AuditFilters, number: TypedNumber | undefined) => void
}

export function AuditForm({ view, filters, options, error, onSearch }: AuditFormProps) {
  const [draft, setDraft] = useState(() => toDraft(filters))
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const address = JSON.stringify(filters)
  const shown = useRef(address)
  // Another address, such as one from the history, is shown in the form. Not the first one: by then something may have been typed.
  useEffect(() => {
    if (shown.current === address) return
    shown.current = address
    setDraft(toDraft(filters))
  }, [address])
  const number = draft.number.replace(/\s/g, '')
  const search = (next: Draft) =>
    onSearch(toFilters(next), number === '' ? undefined : { kind: next.kind, number })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        search(draft)
      }}
    >
      <div class="grid">
        <Filters view={view} draft={draft} options={options} onChange={change} error={error} />
        <Person draft={draft} onChange={change} error={error?.fields['subject.number']} />
      </div>
      <ErrorNote error={error} />
      <div class="bar">
        {/* Also while a list is loading: the newer search takes its place. */}
        <SubmitButton isBusy={false}>Search</SubmitButton>
        <button
          type="button"
          class="plain"
          onClick={() => {
            setDraft(toDraft({}))
            onSearch({}, undefined)
          }}
        >
          Clear
        </button>
      </div>
    </form>
  )
}

type FieldsProps = { readonly draft: Draft; readonly onChange: (part: Partial<Draft>) => void }

const toOptions = (words: readonly string[], toText = toLabel) => [
  { value: '', text: 'Any' },
  ...words.map((word) => ({ value: word, text: word === 'none' ? 'No outcome recorded' : toText(word) })),
]

function Filters({
  view,
  draft,
  options,
  onChange,
  error,
}: FieldsProps & { view: AuditView; options: AuditOptions | undefined; error: ApiError | undefined }) {
  const select = (
    name: 'outcome' | 'operation' | 'source' | 'phase',
    label: string,
    words: string[] = [],
  ) => (
    <SelectField
      label={label}
      value={draft[name] ?? ''}
      onValue={(value) => onChange({ [name]: value })}
      // A value of the address stays, also if it is not in the list.
      options={toOptions(
        draft[name] && !words.includes(draft[name]) ? [...words, draft[name]] : words,
        name === 'operation' ? toOperation : toLabel,
      )}
    />
  )
  return (
    <>
      <TextField
        label="Reference"
        value={draft.reference ?? ''}
        onValue={(reference) => onChange({ reference })}
        placeholder="ver_…"
        autocomplete="off"
        maxLength={100}
      />
      <KeyField value={draft.key ?? ''} onValue={(key) => onChange({ key })} error={error?.fields.key} />
      {select('outcome', 'Outcome', options?.outcomes)}
      {select('operation', 'Operation', options?.operations)}
      {select('source', 'Source', options?.sources)}
      {view === 'rows' && select('phase', 'Phase', options?.phases)}
      <TextField
        label="Consent reference"
        value={draft.consent_reference ?? ''}
        onValue={(consent_reference) => onChange({ consent_reference })}
        autocomplete="off"
        maxLength={200}
      />
      <PurposeField
        value={draft.purpose ?? ''}
        purposes={options?.purposes ?? []}
        onValue={(purpose) => onChange({ purpose })}
      />
      <TextField
        label="From"
        type="datetime-local"
        value={draft.from ?? ''}
        onValue={(from) => onChange({ from })}
      />
      <TextField label="To" type="datetime-local" value={draft.to ?? ''} onValue={(to) => onChange({ to })} />
    </>
  )
}

type PurposeProps = {
  readonly value: string
  readonly purposes: readonly string[]
  readonly onValue: (purpose: string) => void
}

/** Any word may have been sent, also one that is no longer in TABBAT_PURPOSES. */
function PurposeField({ value, purposes, onValue }: PurposeProps) {
  const id = useId()
  return (
    <div>
      <TextField
        label="Purpose"
        value={value}
        onValue={onValue}
        {...({ list: id } as object)}
        placeholder="loan"
        autocomplete="off"
        maxLength={40}
      />
      <datalist id={id}>
        {purposes.map((purpose) => (
          <option key={purpose} value={purpose} />
        ))}
      </datalist>
    </div>
  )
}

function Person({ draft, onChange, error }: FieldsProps & { error: string | undefined }) {
  return (
    <>
      <SelectField
        label="Type of number"
        value={draft.kind}
        onValue={(kind) => onChange({ kind: kind as Draft['kind'] })}
        options={NUMBER_KINDS}
      />
      <SecretField
        label="NIN or BVN"
        value={draft.number}
        onValue={(number) => onChange({ number })}
        maxLength={18}
        placeholder="11 digits, or a virtual NIN"
        help="The server hashes it. It is in no URL and no log; the address then has the keyed hash."
        error={error}
      />
    </>
  )
}

type AuditChipsProps = {
  readonly filters: AuditFilters
  readonly options: AuditOptions | undefined
  readonly onFilters: (filters: AuditFilters) => void
}

/** Periods to choose with one click, and what is filtered by, each to be removed with one click. */
export function AuditChips({ filters, options, onFilters }: AuditChipsProps) {
  const given = AUDIT_FILTERS.filter((name) => filters[name] !== undefined)
  return (
    <>
      <Periods filters={filters} onFilters={onFilters} />
      {given.length > 0 && (
        <ul class="chips filters" aria-label="Filters of this list">
          {given.map((name) => (
            <li key={name}>
              <button
                type="button"
                class="chip"
                aria-pressed="true"
                aria-label={`Remove the filter ${toChipText(name, filters[name] ?? '', options)}`}
                onClick={() => onFilters({ ...filters, [name]: '' })}
              >
                <span class="breaks">{toChipText(name, filters[name] ?? '', options)}</span>{' '}
                <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function toChipText(name: keyof AuditFilters, value: string, options: AuditOptions | undefined): string {
  if (name === 'person') return 'One person'
  if (name === 'from' || name === 'to') return `${toLabel(name)} ${toMoment(value)}`
  if (name === 'operation') return toOperation(value)
  if (name === 'outcome') return value === 'none' ? 'No outcome recorded' : toLabel(value)
  const key = name === 'key' && options?.keys.find(({ id }) => id === value)
  return `${toLabel(name)}: ${key ? key.name : value}`
}

type PeriodsProps = Pick<AuditChipsProps, 'filters' | 'onFilters'>

/** In the time zone of the browser, as all times of the page. */
function Periods({ filters, onFilters }: PeriodsProps) {
  const now = new Date()
  const [year, month] = [now.getFullYear(), now.getMonth()]
  const today = toPeriod(new Date(year, month, now.getDate()), new Date(year, month, now.getDate() + 1))
  const presets = [
    ['Today', today],
    ['This month', toMonth(year, month)],
    ['Last month', toMonth(year, month - 1)],
  ] as const
  const isShown = ({ from, to }: Period) => filters.from === from && filters.to === to
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">Period</legend>
      {presets.map(([text, period]) => (
        <button
          key={text}
          type="button"
          class="chip"
          aria-pressed={isShown(period) ? 'true' : 'false'}
          onClick={() => onFilters({ ...filters, ...(isShown(period) ? { from: '', to: '' } : period) })}
        >
          {text}
        </button>
      ))}
      <select
        class="chip"
        aria-label="Month"
        value=""
        onChange={({ currentTarget }) => {
          const [chosenYear = 0, chosen = 0] = currentTarget.value.split('-').map(Number)
          onFilters({ ...filters, ...toMonth(chosenYear, chosen) })
        }}
      >
        <option value="">A month…</option>
        {Array.from({ length: 24 }, (_, back) => new Date(year, month - back, 1)).map((date) => (
          <option key={date.getTime()} value={`${date.getFullYear()}-${date.getMonth()}`}>
            {monthName.format(date)}
          </option>
        ))}
      </select>
    </fieldset>
  )
}

const monthName = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric' })

type Period = { readonly from: string; readonly to: string }

const toMonth = (year: number, month: number) =>
  toPeriod(new Date(year, month, 1), new Date(year, month + 1, 1))

/** `to` is the last millisecond: the filter includes it. */
const toPeriod = (start: Date, end: Date): Period => ({
  from: start.toISOString(),
  to: new Date(end.getTime() - 1).toISOString(),
})

/** The search has ended and found nothing. */
export const isEmpty = ({ pages = [], isBusy, error }: ReturnType<typeof useAuditSearch>) =>
  !isBusy && !error && pages.at(-1)?.next === null && pages.every((page) => countOf(page) === 0)

type ExportsProps = { readonly view: AuditView; readonly filters: AuditFilters; readonly isEmpty: boolean }

/** Links, because the browser then writes the file while it arrives. */
export function Exports({ view, filters, isEmpty }: ExportsProps) {
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
      <ExtractCheckForm />
      <small class="dim">
        <a href="/admin/audit/public-key.pem" download>
          Download the public key
        </a>
        . CSV and NDJSON hold what the search finds, the filter, signed checkpoints and a signature. Check
        such a file without a database: <code>tabbat audit verify-extract FILE --public-key KEY</code>
      </small>
    </div>
  )
}

/** Whether a file that was handed out is still as it was signed. */
function ExtractCheckForm() {
  const { api } = useAppContext()
  const [result, setResult] = useState<ExtractCheck>()
  const check = useMutation(async (file: File) => {
    setResult(undefined)
    const options = { type: 'application/x-ndjson', key: '' }
    setResult(await api.upload<ExtractCheck>('/admin/audit/extract/check', file, options))
  })
  return (
    <>
      <FileField
        label="Check an extract"
        help="A CSV or NDJSON file of this log, at most 80 MB."
        accept=".csv,.ndjson"
        onFile={(file) => file && check.run(file)}
      />
      <ErrorNote error={check.error} />
      {result && (
        <div class={`note ${result.sound ? 'good' : 'bad'}`} role={result.sound ? 'status' : 'alert'}>
          <p>
            <b>{result.sound ? 'The extract is as it was signed.' : 'The extract is NOT good.'}</b>
          </p>
          <ul>
            {result.facts.map((fact) => (
              <li key={fact} class="breaks">
                {fact}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
