import { useState } from 'preact/hooks'
import { rethrowPasswordError } from '../api-client.ts'
import { useAppContext } from '../app-context.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm } from './dialog.tsx'
import { TextField } from './field.tsx'
import { PasswordField } from './password-field.tsx'

type PersonDialogProps<T> = {
  readonly title: string
  readonly note: string
  readonly verb: string
  readonly path: string
  readonly query: object
  readonly isDanger?: boolean
  readonly onClose: () => void
  readonly onDone: (result: T) => void
}

/** Asks for a reason and the password, and sends both with the number. */
export function PersonDialog<T>(props: PersonDialogProps<T>) {
  const { title, note, verb, path, query, isDanger = false, onClose, onDone } = props
  const { api, session } = useAppContext()
  const [reason, setReason] = useState('')
  const [password, setPassword] = useState('')
  const mutation = useMutation(async () => {
    const body = { ...query, reason: reason.trim(), ...(session.has_password && { password }) }
    const result = await api.post<T>(path, body).catch(rethrowPasswordError)
    onClose()
    onDone(result)
  })
  return (
    <Confirm title={title} verb={verb} mutation={mutation} onClose={onClose} isDanger={isDanger}>
      <p>{note}</p>
      <TextField
        label="Reason"
        value={reason}
        onValue={setReason}
        help="10 to 200 characters. No names or numbers: the audit log cannot be edited."
        error={mutation.error?.fields.reason}
        minLength={10}
        maxLength={200}
        autocomplete="off"
        required
      />
      <PasswordField value={password} onValue={setPassword} error={mutation.error?.fields.password} />
    </Confirm>
  )
}
