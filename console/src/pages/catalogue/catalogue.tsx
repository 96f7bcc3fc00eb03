import { useState } from 'preact/hooks'
import type {
  CatalogueOutcome,
  CatalogueView,
  CatalogueDiff as DiffShape,
} from '../../../../src/admin/catalogue.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Confirm } from '../../components/dialog.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { SourceLink } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toDay, toMoment, toPrice, toWords } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { hasText, useSearch } from '../../use-search.ts'
import { CatalogueDiff, CatalogueReviews, ImportDialog, SyncDialog } from './catalogue-dialogs.tsx'

export function Catalogue() {
  const query = useQuery<CatalogueView>('/admin/catalogue')
  const [isImporting, setImporting] = useState(false)
  const [syncing, setSyncing] = useState<string>()
  const isOperator = useHasRole('operator')
  return (
    <QueryResult query={query} lines={8}>
      {(view) => (
        <>
          <div class="bar">
            <p class="dim">
              {view.version === 0
                ? 'The lists shipped with this release are active.'
                : `Version ${view.version} is active.`}
            </p>
            <span class="bar push">
              {isOperator &&
                view.can_sync.map((source) => (
                  <button key={source} type="button" onClick={() => setSyncing(source)}>
                    Sync from {source}
                  </button>
                ))}
              {isOperator && (
                <button type="button" onClick={() => setImporting(true)}>
                  Import
                </button>
              )}
              <a class="button" href="/admin/catalogue/export" download>
                Export
              </a>
            </span>
          </div>
          <CatalogueReviews view={view} onChange={query.reload} />
          <Lists view={view} />
          <CatalogueHistory view={view} onChange={query.reload} />
          <Syncs view={view} />
          {isImporting && <ImportDialog onClose={() => setImporting(false)} onDone={query.reload} />}
          {syncing !== undefined && (
            <SyncDialog source={syncing} onClose={() => setSyncing(undefined)} onDone={query.reload} />
          )}
        </>
      )}
    </QueryResult>
  )
}

function Lists({ view }: { view: CatalogueView }) {
  const find = (searched: string) =>
    view.lists
      .map((list) => ({
        ...list,
        items: list.items.filter(({ code, name }) => hasText(`${list.title} ${code} ${name}`, searched)),
      }))
      .filter(({ items }) => searched.trim() === '' || items.length > 0)
  const [text, setText] = useSearch((typed) => find(typed).length > 0)
  const lists = find(text)
  const isSearched = text.trim() !== ''
  return (
    <Panel title="Lists">
      <TextField
        label="Search the lists"
        type="search"
        value={text}
        onValue={setText}
        placeholder="Name, code or list"
      />
      {lists.length === 0 && (
        <Empty>
          <p>
            {view.lists.length === 0
              ? 'There are no lists. Import lists or sync with a vendor.'
              : 'No item matches.'}
          </p>
        </Empty>
      )}
      {lists.map((list) => (
        <List key={`${list.title} ${isSearched}`} list={list} isOpen={isSearched} />
      ))}
    </Panel>
  )
}

/** `tv DSTV add-ons` becomes `TV DSTV add-ons`. */
const toTitle = (title: string) =>
  title.startsWith('tv ') ? `TV ${title.slice(3)}` : title.charAt(0).toUpperCase() + title.slice(1)

type ListProps = { readonly list: CatalogueView['lists'][number]; readonly isOpen: boolean }

const DAY_MS = 86_400_000
/** Prices of a list that was not renewed for so long are probably wrong. */
const OLD_DAYS = 180
const MONTH_DAYS = 30.44

/** Said only of an old list. */
function Age({ asOf }: { asOf: string }) {
  const days = (Date.now() - Date.parse(asOf)) / DAY_MS
  if (!(days > OLD_DAYS)) return null
  const months = Math.floor(days / MONTH_DAYS)
  return <Pill tone="warn">{months < 24 ? `${months} months` : `${Math.floor(months / 12)} years`} old</Pill>
}

/** Rendered when opened, because a catalogue may have thousands of items. */
function List({ list, isOpen }: ListProps) {
  const [isShown, setShown] = useState(isOpen)
  return (
    <details open={isOpen} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        <span class="list">
          <span>{toTitle(list.title)}</span>
          <small class="dim number">
            {list.items.length === 1 ? '1 item' : `${toCount(list.items.length)} items`}
          </small>
          <small class="dim">
            as of {toDay(list.as_of)} <Age asOf={list.as_of} />
          </small>
        </span>
      </summary>
      {isShown && list.items.length === 0 && <p class="dim">This list is empty.</p>}
      {isShown && list.items.length > 0 && (
        <Table
          label={list.title}
          file={list.title.replaceAll(/[^a-z0-9]+/gi, '-')}
          rows={list.items}
          keyOf={({ code, name }) => `${code} ${name}`}
          columns={[
            { title: 'Code', cell: ({ code }) => <code>{code}</code> },
            { title: 'Name', cell: ({ name }) => name },
            { title: 'Note', cell: ({ note }) => <span class="dim">{note}</span> },
            { title: 'Price', cell: ({ price }) => toPrice(price), isNumber: true },
          ]}
        />
      )}
    </details>
  )
}

function Syncs({ view: { syncs } }: { view: CatalogueView }) {
  if (syncs.length === 0) return null
  return (
    <Panel title="Last syncs">
      <Table
        label="Last syncs"
        file="syncs"
        rows={syncs}
        keyOf={({ source, at }) => `${source} ${at}`}
        columns={[
          { title: 'Source', cell: ({ source }) => <SourceLink name={source} /> },
          { title: 'Time', cell: ({ at }) => <When at={at} /> },
          { title: 'Outcome', cell: ({ outcome }) => (outcome === null ? 'running' : toWords(outcome)) },
        ]}
      />
    </Panel>
  )
}

type HistoryProps = { readonly view: CatalogueView; readonly onChange: () => void }

const FEW = 8

function CatalogueHistory({ view, onChange }: HistoryProps) {
  const [target, setTarget] = useState<number>()
  const [isWhole, setWhole] = useState(false)
  const { versions, version } = view
  const isOperator = useHasRole('operator')
  if (versions.length === 0)
    return (
      <Panel title="History">
        <Empty>
          <p>There are no earlier versions. An import or a sync creates one.</p>
        </Empty>
      </Panel>
    )
  return (
    <Panel title="History">
      <Table
        label="Versions of the catalogue"
        file="catalogue-versions"
        rows={isWhole ? versions : versions.slice(0, FEW)}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Version', cell: ({ id }) => id },
          { title: 'Time', cell: ({ at }) => <When at={at} otherwise="shipped" /> },
          { title: 'Origin', cell: ({ origin }) => origin },
          { title: 'By', cell: ({ author }) => author },
          {
            title: '',
            cell: ({ id }) =>
              id === version ? (
                <Pill tone="good">active</Pill>
              ) : (
                isOperator && (
                  <button
                    type="button"
                    class="small"
                    aria-label={`Roll back to version ${id}`}
                    onClick={() => setTarget(id)}
                  >
                    Roll back
                  </button>
                )
              ),
          },
        ]}
      />
      {!isWhole && versions.length > FEW && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          Show all {versions.length} versions
        </button>
      )}
      {versions.length > 1 && <CompareVersions view={view} />}
      {target !== undefined && (
        <RollBack
          from={version}
          to={target}
          onClose={() => setTarget(undefined)}
          onDone={() => {
            setTarget(undefined)
            onChange()
          }}
        />
      )}
    </Panel>
  )
}

function CompareVersions({ view: { versions } }: { view: CatalogueView }) {
  const [from, setFrom] = useState(String(versions[1]?.id))
  const [to, setTo] = useState(String(versions[0]?.id))
  const [isOpen, setOpen] = useState(false)
  const options = versions.map(({ id, origin, at }) => ({
    value: String(id),
    text: `${id}: ${origin}${at === null ? '' : `, ${toMoment(at)}`}`,
  }))
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Compare two versions</summary>
      {isOpen && (
        <>
          <div class="grid">
            <SelectField label="From version" value={from} onValue={setFrom} options={options} />
            <SelectField label="To version" value={to} onValue={setTo} options={options} />
          </div>
          <VersionDiff from={from} to={to} />
        </>
      )}
    </details>
  )
}

function VersionDiff({ from, to }: { from: string; to: string }) {
  const query = useQuery<Static<typeof DiffShape>>(`/admin/catalogue/diff?from=${from}&to=${to}`)
  return <QueryResult query={query}>{({ changes }) => <CatalogueDiff changes={changes} />}</QueryResult>
}

type RollBackProps = {
  readonly from: number
  readonly to: number
  readonly onClose: () => void
  readonly onDone: () => void
}

function RollBack({ from, to, onClose, onDone }: RollBackProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post<CatalogueOutcome>('/admin/catalogue/rollback', { to })
    onDone()
  })
  return (
    <Confirm
      title={`Roll back to version ${to}?`}
      verb="Roll back"
      mutation={mutation}
      onClose={onClose}
      isDanger
    >
      <p>Version {to} becomes active at once, as a new version. Changes:</p>
      <VersionDiff from={String(from)} to={String(to)} />
    </Confirm>
  )
}
