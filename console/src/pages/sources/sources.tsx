import { useState } from 'preact/hooks'
import type { SourceList } from '../../../../src/admin/sources.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { FormDialog } from '../../components/dialog.tsx'
import { lazy } from '../../components/lazy.tsx'
import { LiveState } from '../../components/live-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { HealthPill } from '../../components/sources-table.tsx'
import { toHash } from '../../hash.ts'
import { findWorstNodes } from '../../source-health.ts'
import { useMutation } from '../../use-mutation.ts'
import { useSources, VendorPanel } from './vendor-panel.tsx'

const VendorPage = lazy(async () => (await import('./vendor-page.tsx')).VendorPage)

export function Sources({ rest }: { rest: string }) {
  return rest === '' ? <AllSources /> : <VendorPage key={rest} name={rest} />
}

function AllSources() {
  const { query, live } = useSources()
  const [ordering, setOrdering] = useState<'nin' | 'bvn'>()
  const close = () => setOrdering(undefined)
  const done = () => {
    close()
    query.reload()
  }
  return (
    <>
      <div class="bar">
        <p class="dim">
          Called in this order. A source that keeps failing is skipped for a while. Errors and latencies are
          of the last five minutes.
        </p>
        <LiveState live={live} />
      </div>
      <QueryResult query={query}>
        {(list) => (
          <>
            <SourceOrders list={list} onChange={setOrdering} />
            <Vendors list={list} onDone={query.reload} />
          </>
        )}
      </QueryResult>
      {ordering && query.value && (
        <OrderDialog kind={ordering} list={query.value} onClose={close} onDone={done} />
      )}
    </>
  )
}

function Vendors({ list, onDone }: { list: SourceList; onDone: () => void }) {
  const names = [...new Set(list.sources.map(({ source }) => source))]
  if (names.length === 0)
    return (
      <Empty>
        <p>
          No vendor is configured. Live keys are answered from your own records only. See{' '}
          <a href={toHash('settings')}>Settings</a> for what a vendor needs.
        </p>
      </Empty>
    )
  return (
    <>
      {names.map((name) => (
        <VendorPanel key={name} name={name} list={list} onDone={onDone} isLinked />
      ))}
    </>
  )
}

type OrdersProps = { readonly list: SourceList; readonly onChange: (kind: 'nin' | 'bvn') => void }

/** The order in which the sources are called, for each kind of number. */
function SourceOrders({ list, onChange }: OrdersProps) {
  const isOperator = useHasRole('operator')
  const toChangeButton = (kind: 'nin' | 'bvn') => (
    <button
      type="button"
      class="small push"
      aria-label={`Change order for ${kind.toUpperCase()}`}
      onClick={() => onChange(kind)}
    >
      Change order
    </button>
  )
  return (
    <div class="halves">
      {(['nin', 'bvn'] as const).map((kind) => (
        <Panel
          key={kind}
          title={`Call order for ${kind.toUpperCase()}`}
          aside={isOperator && list[`${kind}_order`].length > 1 && toChangeButton(kind)}
        >
          <Order kind={kind} list={list} />
          {list.changed_orders.includes(kind) && (
            <p class="dim">Changed here. It replaces the order of the setting.</p>
          )}
        </Panel>
      ))}
    </div>
  )
}

function Order({ kind, list }: { kind: 'nin' | 'bvn'; list: SourceList }) {
  const order = list[`${kind}_order`]
  if (order.length === 0)
    return (
      <Empty>
        <p>
          No source is configured for live keys. Set <code>TABBAT_{kind.toUpperCase()}_SOURCES</code>, or
          import your own records with <code>tabbat import</code>.
        </p>
      </Empty>
    )
  const find = (name: string) =>
    findWorstNodes(list.sources).find(
      ({ source, operation }) => source === name && operation === `verify_${kind}`,
    )
  return (
    <ol class="order">
      {order.map((name) => {
        const state = find(name)
        return (
          <li key={name}>
            {name === 'registry' ? <b>{name}</b> : <a href={toHash('sources', name)}>{name}</a>}{' '}
            {name === 'registry' && <small class="dim">your own records</small>}{' '}
            {state && <HealthPill source={state} />}
          </li>
        )
      })}
    </ol>
  )
}

type DialogProps = {
  readonly list: SourceList
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Changes the call order of one kind of number, on all nodes. */
function OrderDialog({ kind, list, onClose, onDone }: DialogProps & { kind: 'nin' | 'bvn' }) {
  const { api } = useAppContext()
  const [names, setNames] = useState(list[`${kind}_order`])
  const [moved, setMoved] = useState('')
  const send = async (order?: readonly string[]) => {
    await api.post('/admin/sources/order', { kind, ...(order ? { names: order } : {}) })
    onDone()
  }
  const save = useMutation(() => send(names))
  const reset = useMutation(() => send())
  const move = (from: number, by: 1 | -1) => {
    const name = names[from] ?? ''
    setNames(names.toSpliced(from, 1).toSpliced(from + by, 0, name))
    setMoved(`${name} is now number ${from + by + 1}.`)
  }
  return (
    <FormDialog
      title={`Call order for ${kind.toUpperCase()}`}
      verb="Save order"
      mutation={{ isBusy: save.isBusy, error: save.error ?? reset.error }}
      onSubmit={save.run}
      onClose={onClose}
      isReady={names !== list[`${kind}_order`]}
      aside={
        list.changed_orders.includes(kind) && (
          <button type="button" disabled={reset.isBusy} onClick={() => reset.run()}>
            Use the order of the setting
          </button>
        )
      }
    >
      <p>
        The first source is called first. All nodes follow within 5 seconds. The change is recorded in the
        audit log.
      </p>
      <ol class="order">
        {names.map((name, place) => (
          <li key={name}>
            <b>{name}</b>
            <MoveButtons
              name={name}
              isFirst={place === 0}
              isLast={place === names.length - 1}
              onMove={(by) => move(place, by)}
            />
          </li>
        ))}
      </ol>
      <p class="visually-hidden" role="status">
        {moved}
      </p>
    </FormDialog>
  )
}

type MoveProps = {
  readonly name: string
  readonly isFirst: boolean
  readonly isLast: boolean
  readonly onMove: (by: 1 | -1) => void
}

function MoveButtons({ name, isFirst, isLast, onMove }: MoveProps) {
  const directions = [
    { text: 'Up', by: -1, isAtEnd: isFirst },
    { text: 'Down', by: 1, isAtEnd: isLast },
  ] as const
  return (
    <span class="actions push">
      {directions.map(({ text, by, isAtEnd }) => (
        <button
          key={text}
          type="button"
          class="small"
          aria-label={`Move ${name} ${text.toLowerCase()}`}
          disabled={isAtEnd}
          onClick={() => onMove(by)}
        >
          {text}
        </button>
      ))}
    </span>
  )
}
