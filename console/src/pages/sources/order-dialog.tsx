import { useState } from 'preact/hooks'
import type { SourceList } from '../../../../src/admin/sources.ts'
import { useAppContext } from '../../app-context.ts'
import { FormDialog } from '../../components/dialog.tsx'
import { useMutation } from '../../use-mutation.ts'

type OrderProps = {
  readonly kind: 'nin' | 'bvn'
  readonly list: SourceList
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Changes the call order of one kind of number, on all nodes. */
export function OrderDialog({ kind, list, onClose, onDone }: OrderProps) {
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
