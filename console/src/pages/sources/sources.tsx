import { useEffect, useState } from 'preact/hooks'
import type { SourceChecked, SourceList } from '../../../../src/admin/sources.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Confirm, Dialog, FormDialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { LiveState } from '../../components/live-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { HealthPill, SourceTable, SpentToday, VendorFacts } from '../../components/sources-table.tsx'
import { toCount, toMs, toWords } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { findWorstNodes } from '../../source-health.ts'
import { useMutation } from '../../use-mutation.ts'
import { useOverviewEvents } from '../../use-overview-events.ts'
import { useQuery } from '../../use-query.ts'

type Open = { readonly what: 'enable' | 'disable' | 'check'; readonly name: string }

export function Sources() {
  const { query, live } = useSources()
  const [open, setOpen] = useState<Open>()
  const [ordering, setOrdering] = useState<'nin' | 'bvn'>()
  const [checked, setChecked] = useState<{ name: string; result: Checked }>()
  const close = () => {
    setOpen(undefined)
    setOrdering(undefined)
  }
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
            <States list={list} onOpen={setOpen} />
          </>
        )}
      </QueryResult>
      {open && open.what !== 'check' && query.value && (
        <SwitchSource {...open} what={open.what} list={query.value} onClose={close} onDone={done} />
      )}
      {ordering && query.value && (
        <OrderDialog kind={ordering} list={query.value} onClose={close} onDone={done} />
      )}
      {open?.what === 'check' && (
        <CheckSource
          name={open.name}
          onClose={close}
          onChecked={(result) => {
            setChecked({ name: open.name, result })
            done()
          }}
        />
      )}
      {checked && <CheckResult {...checked} onClose={() => setChecked(undefined)} />}
    </>
  )
}

/** The order is loaded once, the states are also pushed. The latest states count. */
function useSources() {
  const query = useQuery<SourceList>('/admin/sources')
  const live = useOverviewEvents({ range: 'hour', mode: 'all' })
  const [states, setStates] = useState<SourceList['sources']>()
  const loaded = query.value?.sources
  const pushed = live.value?.sources
  useEffect(() => setStates(loaded), [loaded])
  useEffect(() => {
    if (pushed) setStates(pushed)
  }, [pushed])
  const value = query.value && { ...query.value, sources: states ?? query.value.sources }
  return { query: { ...query, value }, live }
}

function States({ list, onOpen }: { list: SourceList; onOpen: (open: Open) => void }) {
  const isOperator = useHasRole('operator')
  const groups = [...Map.groupBy(list.sources, ({ source }) => source)]
  if (groups.length === 0)
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
      {groups.map(([name, states]) => (
        <Panel
          key={name}
          title={name}
          aside={
            isOperator && (
              <Actions
                name={name}
                isDisabled={states.some(({ disabled }) => disabled)}
                canCheck={list.can_check.includes(name)}
                onOpen={onOpen}
              />
            )
          }
        >
          {states[0] && <Today spend={states[0]} />}
          <SourceTable sources={states} />
          <VendorFacts vendor={list.vendors.find((vendor) => vendor.name === name)} />
        </Panel>
      ))}
    </>
  )
}

function Today({ spend }: { spend: SourceList['sources'][number] }) {
  return (
    <p class="bar">
      <span class="dim">Since midnight in Lagos: {toCount(spend.calls_today)} calls,</span>{' '}
      <SpentToday spend={spend} />
      {spend.cap_kobo === null && <span class="dim">no cap</span>}
    </p>
  )
}

type ActionsProps = {
  readonly name: string
  readonly isDisabled: boolean
  readonly canCheck: boolean
  readonly onOpen: (open: Open) => void
}

function Actions({ name, isDisabled, canCheck, onOpen }: ActionsProps) {
  return (
    <span class="actions push">
      {canCheck && (
        <button
          type="button"
          class="small"
          aria-label={`Check now: ${name}`}
          onClick={() => onOpen({ what: 'check', name })}
        >
          Check now
        </button>
      )}
      <button
        type="button"
        class="small"
        aria-label={isDisabled ? `Enable ${name}` : `Disable ${name}`}
        onClick={() => onOpen({ what: isDisabled ? 'enable' : 'disable', name })}
      >
        {isDisabled ? 'Enable' : 'Disable'}
      </button>
    </span>
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
            <b>{name}</b> {name === 'registry' && <small class="dim">your own records</small>}{' '}
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

type Checked = Static<typeof SourceChecked>

/** The kinds of number for which this is the last enabled vendor. */
function findKindsWithoutOther(list: SourceList, name: string) {
  const isOff = (other: string) => list.sources.some(({ source, disabled }) => source === other && disabled)
  return (['nin', 'bvn'] as const).filter((kind) => {
    const enabled = list[`${kind}_order`].filter((other) => other !== 'registry' && !isOff(other))
    return enabled.includes(name) && enabled.length === 1
  })
}

type SwitchProps = DialogProps & { readonly what: 'enable' | 'disable'; readonly name: string }

function SwitchSource({ what, name, list, onClose, onDone }: SwitchProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/sources/${encodeURIComponent(name)}/${what}`)
    onDone()
  })
  const isOff = what === 'disable'
  return (
    <Confirm
      title={isOff ? `Disable ${name}?` : `Enable ${name}?`}
      verb={isOff ? 'Disable' : 'Enable'}
      mutation={mutation}
      onClose={onClose}
      isDanger={isOff}
    >
      <p>
        {isOff
          ? 'The source is not called on any node until it is enabled again. The next source in the order is called instead.'
          : 'The source is called again, at its place in the order.'}
      </p>
      {isOff &&
        findKindsWithoutOther(list, name).map((kind) => (
          <p key={kind} class="note warn">
            No other vendor is enabled for {kind.toUpperCase()}.
          </p>
        ))}
    </Confirm>
  )
}

type CheckProps = Pick<DialogProps, 'onClose'> & { name: string; onChecked: (result: Checked) => void }

function CheckSource({ name, onClose, onChecked }: CheckProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () =>
    onChecked(await api.post<Checked>(`/admin/sources/${encodeURIComponent(name)}/check`)),
  )
  return (
    <Confirm title={`Check ${name} now?`} verb="Check now" mutation={mutation} onClose={onClose}>
      <p>This sends one request with a test number of the vendor. The call may be billed.</p>
    </Confirm>
  )
}

function CheckResult({ name, result, onClose }: { name: string; result: Checked; onClose: () => void }) {
  return (
    <Dialog title={`Check of ${name}`} onClose={onClose}>
      <p>
        <Pill tone={result.ok ? 'good' : 'bad'}>{result.ok ? 'works' : 'does not work'}</Pill>
      </p>
      <p>{result.explanation}</p>
      <Facts
        facts={[
          ['Request', result.asked],
          ['Result', toWords(result.result)],
          ['Duration', toMs(result.ms)],
        ]}
      />
      <footer>
        <button type="button" class="main" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  )
}
