import type { SourceChecked, SourceList } from '../../../../src/admin/sources.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm, Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Pill } from '../../components/pill.tsx'
import { toMs, toWords } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'

export type Checked = Static<typeof SourceChecked>

/** The kinds of number for which this is the last enabled vendor. */
function findKindsWithoutOther(list: SourceList, name: string) {
  const isOff = (other: string) => list.sources.some(({ source, disabled }) => source === other && disabled)
  return (['nin', 'bvn'] as const).filter((kind) => {
    const enabled = list[`${kind}_order`].filter((other) => other !== 'registry' && !isOff(other))
    return enabled.includes(name) && enabled.length === 1
  })
}

type SwitchProps = {
  readonly what: 'enable' | 'disable'
  readonly name: string
  readonly list: SourceList
  readonly onClose: () => void
  readonly onDone: () => void
}

export function SwitchSource({ what, name, list, onClose, onDone }: SwitchProps) {
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

type CheckProps = {
  readonly name: string
  readonly onClose: () => void
  readonly onChecked: (result: Checked) => void
}

export function CheckSource({ name, onClose, onChecked }: CheckProps) {
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

export function CheckResult({
  name,
  result,
  onClose,
}: {
  name: string
  result: Checked
  onClose: () => void
}) {
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
