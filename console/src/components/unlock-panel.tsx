import { useState } from 'preact/hooks'
import type { Unlocked } from '../../../src/admin/shapes/attempts.ts'
import { useAppContext } from '../app-context.ts'
import { toCount } from '../format.ts'
import { NUMBER_KINDS } from '../number-kinds.ts'
import { unlockTexts as texts } from '../texts/en/unlock.ts'
import { useMutation } from '../use-mutation.ts'
import { SubmitButton } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'
import { SecretField, SelectField, TextField } from './field.tsx'
import { Panel } from './panel.tsx'

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
    <Panel title={texts.title}>
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          unlock.run()
        }}
      >
        <SelectField label={texts.type} value={kind} onValue={setKind} options={NUMBER_KINDS} />
        <SecretField
          label={texts.number}
          value={input.number}
          onValue={(number) => setInput({ ...input, number })}
          placeholder={texts.numberExample}
          error={fields.number}
          maxLength={20}
        />
        <TextField
          label={texts.reason}
          value={input.reason}
          onValue={(reason) => setInput({ ...input, reason })}
          placeholder={texts.reasonExample}
          help={texts.reasonHelp}
          error={fields.reason}
          maxLength={200}
        />
        <SubmitButton
          isBusy={unlock.isBusy}
          isDisabled={input.number.trim() === '' || input.reason.trim() === ''}
        >
          {texts.unlock}
        </SubmitButton>
      </form>
      <p class="dim">{texts.help}</p>
      <ErrorNote error={unlock.error} />
      <p role="status">{result && toText(result)}</p>
    </Panel>
  )
}

const toText = ({ failed_matches: failed }: Unlocked) =>
  failed === 0 ? texts.notLocked : `${texts.done}${toCount(failed)}.`
