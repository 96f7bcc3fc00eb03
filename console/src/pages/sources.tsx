import { useEffect, useState } from 'preact/hooks'
import type { SourceList } from '../../../src/admin/shapes/sources.ts'
import { useHasRole } from '../app-context.ts'
import { LiveState } from '../components/live-state.tsx'
import { Panel } from '../components/pieces.tsx'
import { Check, type Checked, CheckResult, Turn } from '../components/source-dialogs.tsx'
import { HealthPill, SourceTable, SpentToday } from '../components/sources-table.tsx'
import { Empty, QueryResult } from '../components/states.tsx'
import { toCount } from '../format.ts'
import { toHash } from '../route.ts'
import { findWorstNodes } from '../source-health.ts'
import { useOverviewEvents } from '../use-overview-events.ts'
import { useQuery } from '../use-query.ts'

type Open = { readonly what: 'enable' | 'disable' | 'check'; readonly name: string }

export function Sources() {
  const { answer, live } = useSources()
  const [open, setOpen] = useState<Open>()
  const [checked, setChecked] = useState<{ name: string; result: Checked }>()
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    answer.reload()
  }
  return (
    <>
      <div class="bar">
        <p class="dim">
          Asked in this order. One that keeps failing is left out for a while. Errors and times are of the
          last five minutes.
        </p>
        <LiveState live={live} />
      </div>
      <QueryResult answer={answer}>
        {(list) => (
          <>
            <Orders list={list} />
            <States list={list} onOpen={setOpen} />
          </>
        )}
      </QueryResult>
      {open && open.what !== 'check' && answer.value && (
        <Turn {...open} what={open.what} list={answer.value} onClose={close} onDone={done} />
      )}
      {open?.what === 'check' && (
        <Check
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

/** The order is asked for, the states are told as they change; what came last counts. */
function useSources() {
  const answer = useQuery<SourceList>('/admin/sources')
  const live = useOverviewEvents('hour', 'all')
  const [states, setStates] = useState<SourceList['sources']>()
  const asked = answer.value?.sources
  const told = live.value?.sources
  useEffect(() => setStates(asked), [asked])
  useEffect(() => {
    if (told) setStates(told)
  }, [told])
  const value = answer.value && { ...answer.value, sources: states ?? answer.value.sources }
  return { answer: { ...answer, value }, live }
}

function Orders({ list }: { list: SourceList }) {
  return (
    <div class="halves">
      {(['nin', 'bvn'] as const).map((kind) => (
        <Panel key={kind} title={`Order for ${kind.toUpperCase()}`}>
          <Order kind={kind} list={list} />
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
          Nobody is asked for live keys yet. Set up a vendor with{' '}
          <code>TABBAT_{kind.toUpperCase()}_SOURCES</code>, or <code>tabbat import</code> your own records.
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

function States({ list, onOpen }: { list: SourceList; onOpen: (open: Open) => void }) {
  const may = useHasRole('operator')
  const groups = [...Map.groupBy(list.sources, ({ source }) => source)]
  if (groups.length === 0)
    return (
      <Empty>
        <p>
          No vendor is set up: live keys are answered from your own records alone. The{' '}
          <a href={toHash('settings')}>settings</a> say what a vendor needs.
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
            may && (
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
        aria-label={`${isDisabled ? 'Enable' : 'Disable'} ${name}`}
        onClick={() => onOpen({ what: isDisabled ? 'enable' : 'disable', name })}
      >
        {isDisabled ? 'Enable' : 'Disable'}
      </button>
    </span>
  )
}
