import type { SourceChecked, SourceList } from '../../../src/admin/shapes/sources.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useAppContext } from '../app-context.ts'
import { toMs, toWords } from '../format.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm, Dialog } from './dialog.tsx'
import { Facts, Pill } from './pieces.tsx'

export type Checked = Static<typeof SourceChecked>

/** For what it is the last vendor that is asked. */
function findAlone(list: SourceList, name: string) {
  const isOff = (other: string) => list.sources.some(({ source, disabled }) => source === other && disabled)
  return (['nin', 'bvn'] as const).filter((kind) => {
    const asked = list[`${kind}_order`].filter((other) => other !== 'registry' && !isOff(other))
    return asked.includes(name) && asked.length === 1
  })
}

type TurnProps = {
  readonly what: 'enable' | 'disable'
  readonly name: string
  readonly list: SourceList
  readonly onClose: () => void
  readonly onDone: () => void
}

export function Turn({ what, name, list, onClose, onDone }: TurnProps) {
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
          ? 'It is not asked any more, on every node, until somebody enables it. The next in the order is asked instead.'
          : 'It is asked again, in its place in the order.'}
      </p>
      {isOff &&
        findAlone(list, name).map((kind) => (
          <p key={kind} class="note warn">
            No other vendor is left to be asked for {kind.toUpperCase()}.
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

export function Check({ name, onClose, onChecked }: CheckProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () =>
    onChecked(await api.post<Checked>(`/admin/sources/${encodeURIComponent(name)}/check`)),
  )
  return (
    <Confirm title={`Check ${name} now?`} verb="Check now" mutation={mutation} onClose={onClose}>
      <p>One question goes to the vendor, about nobody. The call may be billed.</p>
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
