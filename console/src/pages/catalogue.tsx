import { useState } from 'preact/hooks'
import type { CatalogueView } from '../../../src/admin/shapes/catalogue.ts'
import { useHasRole } from '../app-context.ts'
import { ImportDialog, SyncDialog } from '../components/catalogue-dialogs.tsx'
import { CatalogueHistory } from '../components/catalogue-history.tsx'
import { CatalogueReviews } from '../components/catalogue-reviews.tsx'
import { TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { Empty, QueryResult } from '../components/query-result.tsx'
import { Table } from '../components/table.tsx'
import { When } from '../components/when.tsx'
import { toCount, toDay, toPrice, toWords } from '../format.ts'
import { catalogueTexts as texts } from '../texts/en/catalogue.ts'
import { fill } from '../texts/fill.ts'
import { useQuery } from '../use-query.ts'

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
            <p class="dim">{view.version === 0 ? texts.shippedActive : texts.toActive(view.version)}</p>
            <span class="bar push">
              {isOperator &&
                view.can_sync.map((source) => (
                  <button key={source} type="button" onClick={() => setSyncing(source)}>
                    {fill(texts.syncFrom, { source })}
                  </button>
                ))}
              {isOperator && (
                <button type="button" onClick={() => setImporting(true)}>
                  {texts.import}
                </button>
              )}
              <a class="button" href="/admin/catalogue/export" download>
                {texts.export}
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
    <Panel title={texts.lists}>
      <TextField
        label={texts.search}
        type="search"
        value={text}
        onValue={setText}
        placeholder={texts.searchPlaceholder}
      />
      {lists.length === 0 && (
        <Empty>
          <p>{view.lists.length === 0 ? texts.noLists : texts.noMatch}</p>
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
            {list.items.length === 1 ? texts.oneItem : texts.toItems(toCount(list.items.length))}
          </small>
          <small class="dim">{fill(texts.asOf, { asof: toDay(list.as_of) })}</small>
        </span>
      </summary>
      {isShown && list.items.length === 0 && <p class="dim">{texts.emptyList}</p>}
      {isShown && list.items.length > 0 && (
        <Table
          label={list.title}
          rows={list.items}
          keyOf={({ code, name }) => `${code} ${name}`}
          columns={[
            { title: texts.code, cell: ({ code }) => <code>{code}</code> },
            { title: texts.name, cell: ({ name }) => name },
            { title: texts.note, cell: ({ note }) => <span class="dim">{note}</span> },
            { title: texts.price, cell: ({ price }) => toPrice(price), isNumber: true },
          ]}
        />
      )}
    </details>
  )
}

function Syncs({ view: { syncs } }: { view: CatalogueView }) {
  if (syncs.length === 0) return null
  return (
    <Panel title={texts.lastSyncs}>
      <Table
        label={texts.lastSyncs}
        rows={syncs}
        keyOf={({ source, at }) => `${source} ${at}`}
        columns={[
          { title: texts.source, cell: ({ source }) => source },
          { title: texts.time, cell: ({ at }) => <When at={at} /> },
          { title: texts.outcome, cell: ({ outcome }) => (outcome === null ? 'running' : toWords(outcome)) },
        ]}
      />
    </Panel>
  )
}
