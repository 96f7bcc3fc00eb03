import { useEffect, useState } from 'preact/hooks'
import type { SourceChecked, SourceList } from '../../../../src/admin/sources.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Confirm, Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { SourceTable, SpentToday, VendorFacts } from '../../components/sources-table.tsx'
import { toCount, toMs, toWords } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useMutation } from '../../use-mutation.ts'
import { useOverviewEvents } from '../../use-overview-events.ts'
import { useQuery } from '../../use-query.ts'

type VendorPanelProps = {
  readonly name: string
  readonly list: SourceList
  readonly onDone: () => void
  /** The title is a link to the page of the vendor. */
  readonly isLinked?: boolean
}

/** The state of one vendor, its switch and a check. */
export function VendorPanel({ name, list, onDone, isLinked = false }: VendorPanelProps) {
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<'enable' | 'disable' | 'check'>()
  const [result, setResult] = useState<Checked>()
  const states = list.sources.filter(({ source }) => source === name)
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    onDone()
  }
  return (
    <Panel
      title={isLinked ? <a href={toHash('sources', name)}>{name}</a> : name}
      aside={
        isOperator && (
          <Actions
            name={name}
            isDisabled={states.some(({ disabled }) => disabled)}
            canCheck={list.can_check.includes(name)}
            onOpen={setOpen}
          />
        )
      }
    >
      {states[0] && <Today spend={states[0]} />}
      <SourceTable sources={states} />
      <VendorFacts vendor={list.vendors.find((vendor) => vendor.name === name)} />
      {open && open !== 'check' && (
        <SwitchSource what={open} name={name} list={list} onClose={close} onDone={done} />
      )}
      {open === 'check' && (
        <CheckSource
          name={name}
          onClose={close}
          onChecked={(checked) => {
            setResult(checked)
            done()
          }}
        />
      )}
      {result && <CheckResult name={name} result={result} onClose={() => setResult(undefined)} />}
    </Panel>
  )
}

/** The order is loaded once, the states are also pushed. The latest states count. */
export function useSources() {
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
  readonly onOpen: (open: 'enable' | 'disable' | 'check') => void
}

function Actions({ name, isDisabled, canCheck, onOpen }: ActionsProps) {
  return (
    <span class="actions push">
      {canCheck && (
        <button type="button" class="small" aria-label={`Check now: ${name}`} onClick={() => onOpen('check')}>
          Check now
        </button>
      )}
      <button
        type="button"
        class="small"
        aria-label={isDisabled ? `Enable ${name}` : `Disable ${name}`}
        onClick={() => onOpen(isDisabled ? 'enable' : 'disable')}
      >
        {isDisabled ? 'Enable' : 'Disable'}
      </button>
    </span>
  )
}

type DialogProps = {
  readonly list: SourceList
  readonly onClose: () => void
  readonly onDone: () => void
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
