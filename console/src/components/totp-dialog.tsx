import { useEffect, useState } from 'preact/hooks'
import type { RecoveryCodes, TotpSetup } from '../../../src/admin/second-factors.ts'
import { useAppContext } from '../app-context.ts'
import { useMutation } from '../use-mutation.ts'
import { CodeBlock } from './copy.tsx'
import { Confirm } from './dialog.tsx'
import { TextField } from './field.tsx'
import { QrCode } from './qr-code.tsx'
import { Loading } from './query-result.tsx'

type TotpDialogProps = {
  readonly onClose: () => void
  /** With the recovery codes, if these are the first. */
  readonly onDone: (codes: readonly string[]) => void
}

/** Sets up an authenticator app: shows its secret and asks for its first code. */
export function TotpDialog({ onClose, onDone }: TotpDialogProps) {
  const { api } = useAppContext()
  const [setup, setSetup] = useState<TotpSetup>()
  const [code, setCode] = useState('')
  const begin = useMutation(async () =>
    setSetup(await api.post<TotpSetup>('/admin/session/factors/totp/begin')),
  )
  const { run } = begin
  useEffect(() => void run(), [run])
  const confirm = useMutation(async () => {
    const body = { token: setup?.token, code }
    onDone((await api.post<RecoveryCodes>('/admin/session/factors/totp/confirm', body)).recovery_codes)
  })
  const shown = begin.error ? { ...confirm, error: begin.error } : confirm
  return (
    <Confirm title="Set up an authenticator app" verb="Confirm" mutation={shown} onClose={onClose}>
      <p>Scan this picture with the app, then enter the code that it shows.</p>
      {setup ? <Secret setup={setup} /> : !begin.error && <Loading />}
      <TextField
        label="Code"
        help="Six digits from the app."
        value={code}
        onValue={setCode}
        autocomplete="one-time-code"
        inputMode="numeric"
        required
      />
    </Confirm>
  )
}

function Secret({ setup }: { setup: TotpSetup }) {
  return (
    <>
      <QrCode text={setup.url} label="QR code for the authenticator app" />
      <p class="dim">Or enter this secret in the app</p>
      <CodeBlock text={setup.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')} what="the secret" />
    </>
  )
}
