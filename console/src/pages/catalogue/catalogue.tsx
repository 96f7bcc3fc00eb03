import { useState } from 'preact/hooks'
import type { CatalogueView } from '../../../../src/admin/catalogue.ts'
import { useHasRole } from '../../app-context.ts'
import { TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toDay, toPrice, toWords } from '../../format.ts'
import { useQuery } from '../../use-query.ts'
import { ImportDialog, SyncDialog } from './catalogue-dialogs.tsx'
import { CatalogueHistory } from './catalogue-history.tsx'
import { CatalogueReviews } from './catalogue-reviews.tsx'

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
  const [text, setText] = useState('')
  const searched = text.trim().toLowerCase()
  const lists = view.lists
    .map((list) => ({
      ...list,
      items: list.items.filter(({ code, name }) =>
        `${list.title} ${code} ${name}`.toLowerCase().includes(searched),
      ),
    }))
    .filter(({ items }) => searched === '' || items.length > 0)
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
        <List key={`${list.title} ${searched === ''}`} list={list} isOpen={searched !== ''} />
      ))}
    </Panel>
  )
}

/** `tv DSTV add-ons` becomes `TV DSTV add-ons`. */
const toTitle = (title: string) =>
  title.startsWith('tv ') ? `TV ${title.slice(3)}` : title.charAt(0).toUpperCase() + title.slice(1)

type ListProps = { readonly list: CatalogueView['lists'][number]; readonly isOpen: boolean }

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
          <small class="dim">as of {toDay(list.as_of)}</small>
        </span>
      </summary>
      {isShown && list.items.length === 0 && <p class="dim">This list is empty.</p>}
      {isShown && list.items.length > 0 && (
        <Table
          label={list.title}
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
        rows={syncs}
        keyOf={({ source, at }) => `${source} ${at}`}
        columns={[
          { title: 'Source', cell: ({ source }) => source },
          { title: 'Time', cell: ({ at }) => <When at={at} /> },
          { title: 'Outcome', cell: ({ outcome }) => (outcome === null ? 'running' : toWords(outcome)) },
        ]}
      />
    </Panel>
  )
}
