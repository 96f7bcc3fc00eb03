import { useState } from 'preact/hooks'
import type { CreatedKey, Keys, KeyWithUsage } from '../../../../src/admin/keys.ts'
import { REVOKED_WITHIN } from '../../../../src/contract/revocation.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Confirm } from '../../components/dialog.tsx'
import { Pill } from '../../components/pill.tsx'
import { RollDialog } from '../../components/roll-dialog.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { ChangeKeyDialog, CreateKeyDialog } from './key-form.tsx'

export type OpenKey =
  | { readonly what: 'new' }
  | { readonly what: 'change' | 'revoke' | 'roll'; readonly row: KeyWithUsage }

type KeyDialogsProps = {
  readonly open: OpenKey
  readonly onOpen: (open: OpenKey | undefined) => void
  readonly onChanged: () => void
}

/** What can be done with a key, and the new key, which is shown once. */
export function KeyDialogs({ open, onOpen, onChanged }: KeyDialogsProps) {
  const { value: keys } = useQuery<Keys>('/admin/keys')
  const [created, setCreated] = useState<string>()
  const close = () => onOpen(undefined)
  const finish = ({ key }: CreatedKey) => {
    setCreated(key)
    onChanged()
  }
  const done = () => {
    close()
    onChanged()
  }
  if (created !== undefined)
    return (
      <ShownOnce title="New key" what="the key" text={created} onClose={close}>
        Copy the key now. It is not shown again: only a hash is stored.
      </ShownOnce>
    )
  if (open.what === 'revoke') return <RevokeDialog row={open.row} onClose={close} onDone={done} />
  if (open.what === 'roll') return <RollKeyDialog row={open.row} onClose={close} onCreated={finish} />
  if (!keys) return null
  if (open.what === 'new') return <CreateKeyDialog keys={keys} onClose={close} onCreated={finish} />
  return <ChangeKeyDialog keys={keys} row={open.row} onClose={close} onDone={done} />
}

const TONES = { active: 'good', revoked: 'bad', expired: 'warn' } as const

export const KeyState = ({ state }: Pick<KeyWithUsage, 'state'>) => <Pill tone={TONES[state]}>{state}</Pill>

export function KeyActions({ row, onOpen }: { row: KeyWithUsage; onOpen: (open: OpenKey) => void }) {
  const isOperator = useHasRole('operator')
  const isOwner = useHasRole('owner')
  if (!isOperator || row.state !== 'active') return null
  // Only an owner may change or roll a key that reveals hidden fields.
  const canChange = row.rolled_to === null && (isOwner || row.reveal.length === 0)
  return (
    <span class="actions">
      {canChange && (
        <button
          type="button"
          class="small"
          aria-label={`Change ${row.name}`}
          onClick={() => onOpen({ what: 'change', row })}
        >
          Change
        </button>
      )}
      {canChange && (
        <button
          type="button"
          class="small"
          aria-label={`Roll ${row.name}`}
          onClick={() => onOpen({ what: 'roll', row })}
        >
          Roll
        </button>
      )}
      <button
        type="button"
        class="small"
        aria-label={`Revoke ${row.name}`}
        onClick={() => onOpen({ what: 'revoke', row })}
      >
        Revoke
      </button>
    </span>
  )
}

type RowProps = { readonly row: KeyWithUsage; readonly onClose: () => void }

function RevokeDialog({ row, onClose, onDone }: RowProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  const common = { title: 'Revoke this key?', verb: 'Revoke', typed: row.id, mutation, onClose }
  return (
    <Confirm {...common} isDanger>
      <p>
        Requests with <b class="breaks">{row.name}</b> (<code>{row.id}</code>) are refused {REVOKED_WITHIN}. A
        revoked key cannot be restored.
      </p>
    </Confirm>
  )
}

const OVERLAPS = [
  { value: '0s', text: `None: the old key is refused ${REVOKED_WITHIN}` },
  { value: '1h', text: '1 hour' },
  { value: '24h', text: '24 hours' },
  { value: '7d', text: '7 days' },
] as const

type RollProps = RowProps & { readonly onCreated: (created: CreatedKey) => void }

function RollKeyDialog({ row, onClose, onCreated }: RollProps) {
  const { api } = useAppContext()
  const roll = async (overlap: string) =>
    onCreated(await api.post<CreatedKey>(`/admin/keys/${encodeURIComponent(row.id)}/roll`, { overlap }))
  const words = {
    title: 'Roll this key?',
    verb: 'Create the new key',
    label: 'The old key works for another',
  }
  return (
    <RollDialog {...words} overlaps={OVERLAPS} roll={roll} onClose={onClose}>
      <p>
        A new key with the same options replaces <b class="breaks">{row.name}</b>. Both keys work during the
        overlap, so that you can update your programs.
      </p>
    </RollDialog>
  )
}
