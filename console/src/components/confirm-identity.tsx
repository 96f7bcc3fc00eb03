import { useState } from 'preact/hooks'
import { rethrowPasswordError } from '../api-client.ts'
import { useAppContext } from '../app-context.ts'
import { hasPasskeys, usePasskey } from '../passkey.ts'
import { passkeysTexts } from '../texts/en/passkeys.ts'
import { sessionsTexts as texts } from '../texts/en/sessions.ts'
import { signInTexts } from '../texts/en/sign-in.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm, Dialog } from './dialog.tsx'
import { SecretField } from './field.tsx'

/** Asks for the password or a passkey, when the server requires it for a change. True: the change is sent again. */
export function ConfirmIdentity({ onEnd }: { onEnd: (isConfirmed: boolean) => void }) {
  const { api, session } = useAppContext()
  const [password, setPassword] = useState('')
  const confirm = useMutation(async () => {
    await api.post('/admin/session/confirm', { password }).catch(rethrowPasswordError)
    onEnd(true)
  })
  const withPasskey = useMutation(async () => {
    const response = await usePasskey(api, '/admin/session/confirm/passkey/begin')
    await api.post('/admin/session/confirm/passkey', { response })
    onEnd(true)
  })
  if (!session.has_password) return <ConfirmSso onClose={() => onEnd(false)} />
  const error = confirm.error ?? withPasskey.error
  return (
    <Confirm
      title={texts.confirmTitle}
      verb={texts.confirm}
      mutation={{ ...confirm, error }}
      onClose={() => onEnd(false)}
    >
      <p>{texts.confirmText}</p>
      <SecretField
        label={texts.password}
        value={password}
        onValue={setPassword}
        autocomplete="current-password"
        required
      />
      <input type="text" name="username" autocomplete="username" value={session.name} readOnly hidden />
      {hasPasskeys() && (
        <button type="button" disabled={withPasskey.isBusy} onClick={() => withPasskey.run()}>
          {passkeysTexts.confirm}
        </button>
      )}
    </Confirm>
  )
}

function ConfirmSso({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={texts.confirmTitle} onClose={onClose}>
      <p>{signInTexts.confirmSso}</p>
      <footer>
        <button type="button" class="plain" onClick={onClose}>
          {texts.cancel}
        </button>
        <a class="button" href="/admin/sso/start?confirm=1">
          {signInTexts.confirmSsoLink}
        </a>
      </footer>
    </Dialog>
  )
}
