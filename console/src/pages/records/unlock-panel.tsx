import { useState } from 'preact/hooks'
import type { Unlocked } from '../../../../src/admin/records.ts'
import { useAppContext } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField, SelectField, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { toCount } from '../../format.ts'
import { NUMBER_KINDS } from '../../number-kinds.ts'
import { useMutation } from '../../use-mutation.ts'

const EMPTY = { number: '', reason: '' }

export function UnlockPanel() {
  const { api } = useAppContext()
  const [kind, setKind] = useState('nin')
  const [input, setInput] = useState(EMPTY)
  const [result, setResult] = useState<Unlocked>()
  const unlock = useMutation(async () => {
    setResult(undefined)
    const number = input.number.replace(/\s/g, '')
    setResult(await api.post<Unlocked>('/admin/attempts/unlock', { kind, number, reason: input.reason }))
    setInput(EMPTY)
  })
  const { fields = {} } = unlock.error ?? {}
  return (
    <Panel title="Unlock a number">
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          unlock.run()
        }}
      >
        <SelectField label="Type" value={kind} onValue={setKind} options={NUMBER_KINDS} />
        <SecretField
          label="Number to unlock"
          value={input.number}
          onValue={(number) => setInput({ ...input, number })}
          placeholder="11 digits"
          error={fields.number}
          maxLength={20}
        />
        <TextField
          label="Reason"
          value={input.reason}
          onValue={(reason) => setInput({ ...input, reason })}
          placeholder="Customer changed the phone, ticket 481"
          help="10 to 200 characters, without the number of a person."
          error={fields.reason}
          maxLength={200}
        />
        <SubmitButton
          isBusy={unlock.isBusy}
          isDisabled={input.number.trim() === '' || input.reason.trim() === ''}
        >
          Unlock
        </SubmitButton>
      </form>
      <p class="dim">
        After five failed matches by one key in 24 hours, or twenty by all, a number gets 429
        too_many_attempts. Unlocking forgets them. It is written to the audit log, with the reason.
      </p>
      <ErrorNote error={unlock.error} />
      <p role="status">{result && toText(result)}</p>
    </Panel>
  )
}

const toText = ({ failed_matches: failed }: Unlocked) =>
  failed === 0
    ? 'The number has no failed matches in the last 24 hours.'
    : `The number can be verified again. Failed matches forgotten: ${toCount(failed)}.`
