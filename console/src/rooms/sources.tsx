import { useState } from 'preact/hooks'
import type { SourceChecked, SourceList } from '../../../src/admin/shapes/rest.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useDesk, useMay } from '../desk.ts'
import { toMs, toWords } from '../format.ts'
import { Confirm, Dialog } from '../parts/dialog.tsx'
import { Facts, Panel, Pill } from '../parts/pieces.tsx'
import { SourcesTable, StatePill } from '../parts/sources-table.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { useAnswer } from '../use-answer.ts'
import { useDeed } from '../use-deed.ts'

type Checked = Static<typeof SourceChecked>
type Open = { readonly what: 'enable' | 'disable' | 'check'; readonly name: string }

export function Sources() {
  const answer = useAnswer<SourceList>('/admin/sources')
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
          Asked in order, until one knows. A source that keeps failing is left out for a while.
        </p>
        <button type="button" class="small push" onClick={answer.reload}>
          Refresh
        </button>
      </div>
      <Shown answer={answer}>
        {(list) => (
          <>
            <Orders list={list} />
            <States list={list} onOpen={setOpen} />
          </>
        )}
      </Shown>
      {open && open.what !== 'check' && <Turn {...open} what={open.what} onClose={close} onDone={done} />}
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
        <p>Nobody is asked for live keys yet. Set up a vendor, or import your own records.</p>
      </Empty>
    )
  const find = (name: string) =>
    list.sources.find(({ source, operation }) => source === name && operation === `verify_${kind}`)
  return (
    <ol class="order">
      {order.map((name) => {
        const state = find(name)
        return (
          <li key={name}>
            <b>{name}</b> {name === 'registry' && <small class="dim">your own records</small>}{' '}
            {state && <StatePill {...state} />}
          </li>
        )
      })}
    </ol>
  )
}

function States({ list, onOpen }: { list: SourceList; onOpen: (open: Open) => void }) {
  const may = useMay('operator')
  const groups = [...Map.groupBy(list.sources, ({ source }) => source)]
  if (groups.length === 0)
    return (
      <Empty>
        <p>
          No vendor is set up: live keys are answered from your own records alone. Settings make a vendor.
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
          <SourcesTable sources={states} isOfOne />
        </Panel>
      ))}
    </>
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

type TurnProps = {
  readonly what: 'enable' | 'disable'
  readonly name: string
  readonly onClose: () => void
  readonly onDone: () => void
}

function Turn({ what, name, onClose, onDone }: TurnProps) {
  const { ask } = useDesk()
  const deed = useDeed(async () => {
    await ask.post(`/admin/sources/${encodeURIComponent(name)}/${what}`)
    onDone()
  })
  const isOff = what === 'disable'
  return (
    <Confirm
      title={isOff ? `Disable ${name}?` : `Enable ${name}?`}
      verb={isOff ? 'Disable' : 'Enable'}
      deed={deed}
      onClose={onClose}
      isDanger={isOff}
    >
      <p>
        {isOff
          ? 'It is not asked any more, on every node, until somebody enables it. The next in the order is asked instead.'
          : 'It is asked again, in its place in the order.'}
      </p>
    </Confirm>
  )
}

type CheckProps = {
  readonly name: string
  readonly onClose: () => void
  readonly onChecked: (result: Checked) => void
}

function Check({ name, onClose, onChecked }: CheckProps) {
  const { ask } = useDesk()
  const deed = useDeed(async () =>
    onChecked(await ask.post<Checked>(`/admin/sources/${encodeURIComponent(name)}/check`)),
  )
  return (
    <Confirm title={`Check ${name} now?`} verb="Check now" deed={deed} onClose={onClose}>
      <p>One question goes to the vendor, about nobody. The call may be billed.</p>
    </Confirm>
  )
}

function CheckResult({ name, result, onClose }: { name: string; result: Checked; onClose: () => void }) {
  return (
    <Dialog title={`${name}: checked`} onClose={onClose}>
      <p>
        <Pill tone={result.ok ? 'good' : 'bad'}>{result.ok ? 'works' : 'does not work'}</Pill>
      </p>
      <p>{result.explanation}</p>
      <Facts
        facts={[
          ['Asked', result.asked],
          ['Result', toWords(result.result)],
          ['Took', toMs(result.ms)],
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
