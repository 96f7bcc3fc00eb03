import { useState } from 'preact/hooks'
import type { Passkey } from '../../../src/admin/shapes/passkeys.ts'
import type { RecoveryCodes } from '../../../src/admin/shapes/second-factors.ts'
import { useAppContext } from '../app-context.ts'
import { createPasskey, hasPasskeys } from '../passkey.ts'
import { passkeysTexts as texts } from '../texts/en/passkeys.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm } from './dialog.tsx'
import { TextField } from './field.tsx'
import { Table } from './table.tsx'
import { When } from './when.tsx'

type PasskeyListProps = {
  readonly passkeys: readonly Passkey[]
  readonly onRemove: (passkey: Passkey) => void
  readonly onAdd: () => void
}

export function PasskeyList({ passkeys, onRemove, onAdd }: PasskeyListProps) {
  return (
    <>
      <h3>{texts.title}</h3>
      <p class="dim">{texts.intro}</p>
      {passkeys.length === 0 ? <p>{texts.none}</p> : <PasskeyTable passkeys={passkeys} onRemove={onRemove} />}
      {hasPasskeys() ? (
        <button type="button" onClick={onAdd}>
          {texts.add}
        </button>
      ) : (
        <p class="dim">{texts.unavailable}</p>
      )}
    </>
  )
}

function PasskeyTable({ passkeys, onRemove }: Omit<PasskeyListProps, 'onAdd'>) {
  return (
    <Table
      label={texts.title}
      rows={passkeys}
      keyOf={({ id }) => id}
      columns={[
        { title: texts.name, cell: ({ name }) => <b class="breaks">{name}</b> },
        { title: texts.host, cell: ({ host }) => host },
        { title: texts.added, cell: ({ created_at }) => <When at={created_at} /> },
        { title: texts.used, cell: ({ last_used_at }) => <When at={last_used_at} otherwise={texts.never} /> },
        {
          title: '',
          cell: (passkey) => (
            <button
              type="button"
              class="small"
              aria-label={texts.removeLabel(passkey.name)}
              onClick={() => onRemove(passkey)}
            >
              {texts.remove}
            </button>
          ),
        },
      ]}
    />
  )
}

type AddProps = { readonly onClose: () => void; readonly onDone: (codes: readonly string[]) => void }

export function AddPasskey({ onClose, onDone }: AddProps) {
  const { api } = useAppContext()
  const [name, setName] = useState('')
  const add = useMutation(async () => {
    const response = await createPasskey(api)
    const body = { name: name.trim(), response }
    onDone((await api.post<RecoveryCodes>('/admin/session/factors/passkeys/add', body)).recovery_codes)
  })
  return (
    <Confirm title={texts.add} verb={texts.add} mutation={add} onClose={onClose}>
      <TextField
        label={texts.name}
        help={texts.nameHelp}
        value={name}
        onValue={setName}
        maxLength={60}
        required
      />
    </Confirm>
  )
}

type RemoveProps = { readonly passkey: Passkey; readonly onClose: () => void; readonly onDone: () => void }

export function RemovePasskey({ passkey, onClose, onDone }: RemoveProps) {
  const { api } = useAppContext()
  const remove = useMutation(async () => {
    await api.post('/admin/session/factors/passkeys/remove', { id: passkey.id })
    onDone()
  })
  return (
    <Confirm
      title={texts.removeQuestion(passkey.name)}
      verb={texts.remove}
      mutation={remove}
      onClose={onClose}
      isDanger
    >
      <p>{texts.removeEffect}</p>
    </Confirm>
  )
}
