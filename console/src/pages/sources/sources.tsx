import { useEffect, useState } from 'preact/hooks'
import type { SourceList } from '../../../../src/admin/sources.ts'
import { useHasRole } from '../../app-context.ts'
import { LiveState } from '../../components/live-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { SourceTable, SpentToday } from '../../components/sources-table.tsx'
import { toCount } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useOverviewEvents } from '../../use-overview-events.ts'
import { useQuery } from '../../use-query.ts'
import { OrderDialog } from './order-dialog.tsx'
import { type Checked, CheckResult, CheckSource, SwitchSource } from './source-dialogs.tsx'
import { SourceOrders } from './source-orders.tsx'

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
