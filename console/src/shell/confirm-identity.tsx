import { useState } from 'preact/hooks'
import { rethrowPasswordError } from '../api-client.ts'
import { useAppContext } from '../app-context.ts'
import { Confirm, Dialog } from '../components/dialog.tsx'
import { SecretField } from '../components/field.tsx'
import { hasPasskeys, usePasskey } from '../passkey.ts'
import { useMutation } from '../use-mutation.ts'

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
      title="Is it still you?"
      verb="Continue"
      mutation={{ ...confirm, error }}
      onClose={() => onEnd(false)}
    >
      <p>It is a while since you signed in. Enter your password again to continue.</p>
      <SecretField
        label="Your password"
        value={password}
        onValue={setPassword}
        autocomplete="current-password"
        required
      />
      <input type="text" name="username" autocomplete="username" value={session.name} readOnly hidden />
      {hasPasskeys() && (
        <button type="button" disabled={withPasskey.isBusy} onClick={() => withPasskey.run()}>
          Use a passkey
        </button>
      )}
    </Confirm>
  )
}

function ConfirmSso({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Is it still you?" onClose={onClose}>
      <p>
        Your account has no password here. Sign in again at your identity provider, then repeat the change.
      </p>
      <footer>
        <button type="button" class="plain" onClick={onClose}>
          Cancel
        </button>
        <a class="button" href="/admin/sso/start?confirm=1">
          Sign in again
        </a>
      </footer>
    </Dialog>
  )
}
