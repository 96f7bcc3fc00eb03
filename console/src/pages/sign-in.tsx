import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../../../src/admin/shapes/session.ts'
import type { ApiClient } from '../api-client.ts'
import { SubmitButton } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-note.tsx'
import { SecretField, TextField } from '../components/field.tsx'
import { Mark } from '../shell.tsx'
import { useMutation } from '../use-mutation.ts'

type SignInProps = { readonly api: ApiClient; readonly onEnter: (session: Session) => void }

/** Shown instead of any page until the user has signed in. */
export function SignIn({ api, onEnter }: SignInProps) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = 'Sign in · Tabbat console'
    form.current?.querySelector('input')?.focus()
  }, [])
  const signIn = useMutation(async () => {
    const body = { name: name.trim().toLowerCase(), password }
    onEnter(await api.post<Session>('/admin/session/sign-in', body))
  })
  return (
    <main id="main" class="alone" tabIndex={-1}>
      <form
        ref={form}
        class="panel"
        onSubmit={(event) => {
          event.preventDefault()
          signIn.run()
        }}
      >
        <h1>
          <Mark /> Sign in to Tabbat
        </h1>
        <TextField label="Name" value={name} onValue={setName} autocomplete="username" required />
        <SecretField
          label="Password"
          value={password}
          onValue={setPassword}
          autocomplete="current-password"
          required
        />
        <ErrorNote error={signIn.error} />
        <SubmitButton isBusy={signIn.isBusy}>Sign in</SubmitButton>
        <small class="dim">
          No account? Ask the operator of this server for a one-time link: <code>tabbat admin invite</code>.
        </small>
      </form>
    </main>
  )
}
