import type { CreatedEndpoint, Endpoint } from '../../../../src/admin/webhooks.ts'
import { useHasRole } from '../../app-context.ts'
import { Pill } from '../../components/pill.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import {
  DeleteEndpointDialog,
  ResendFailedDialog,
  RollSecretDialog,
  SwitchEndpointDialog,
  TestEndpointDialog,
} from './endpoint-dialogs.tsx'

const TONES = { active: 'good', failing: 'warn', disabled: 'bad' } as const

export const EndpointState = ({ state }: Pick<Endpoint, 'state'>) => <Pill tone={TONES[state]}>{state}</Pill>

type RowAction = 'test' | 'resend' | 'roll' | 'switch' | 'delete'
export type OpenRow =
  | { readonly what: RowAction; readonly row: Endpoint }
  | { readonly what: 'secret'; readonly secret: string }

type ActionsProps = { readonly row: Endpoint; readonly onOpen: (open: OpenRow) => void }

export function EndpointActions({ row, onOpen }: ActionsProps) {
  if (!useHasRole('operator')) return null
  const actions: readonly (readonly [RowAction, string])[] = [
    ['test', 'Test'],
    ...(row.state === 'disabled' ? [] : [['resend', 'Resend'] as const]),
    ['roll', 'Roll'],
    ['switch', row.state === 'disabled' ? 'Enable' : 'Disable'],
    ['delete', 'Delete'],
  ]
  return (
    <span class="actions">
      {actions.map(([what, text]) => (
        <button
          key={what}
          type="button"
          class="small"
          aria-label={`${text} ${row.name}`}
          onClick={() => onOpen({ what, row })}
        >
          {text}
        </button>
      ))}
    </span>
  )
}

type RowDialogsProps = {
  readonly open: OpenRow
  readonly onOpen: (open: OpenRow | undefined) => void
  readonly onChanged: () => void
}

/** What can be done with an endpoint, and its secret, which is shown once. */
export function RowDialogs({ open, onOpen, onChanged }: RowDialogsProps) {
  const close = () => onOpen(undefined)
  const done = () => {
    close()
    onChanged()
  }
  const finish = ({ secret }: CreatedEndpoint) => {
    onOpen({ what: 'secret', secret })
    onChanged()
  }
  if (open.what === 'secret')
    return (
      <ShownOnce title="Secret of the endpoint" what="the secret" text={open.secret} onClose={close}>
        Copy the secret now, and give it to the receiver. It is not shown again.
      </ShownOnce>
    )
  const { what, row } = open
  if (what === 'test') return <TestEndpointDialog row={row} onClose={close} />
  if (what === 'resend') return <ResendFailedDialog row={row} onClose={close} onDone={onChanged} />
  if (what === 'roll') return <RollSecretDialog row={row} onClose={close} onCreated={finish} />
  if (what === 'switch') return <SwitchEndpointDialog row={row} onClose={close} onDone={done} />
  return <DeleteEndpointDialog row={row} onClose={close} onDone={done} />
}
