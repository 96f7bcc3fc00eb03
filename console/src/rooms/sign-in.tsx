import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../../../src/admin/shapes/session.ts'
import type { Ask } from '../ask.ts'
import { DeedButton } from '../parts/dialog.tsx'
import { SecretField, TextField } from '../parts/field.tsx'
import { Trouble } from '../parts/states.tsx'
import { Mark } from '../shell.tsx'
import { useDeed } from '../use-deed.ts'

type SignInProps = { readonly ask: Ask; readonly onEnter: (session: Session) => void }

/** Stands in for whatever room the address names; that room comes when the person is known. */
export function SignIn({ ask, onEnter }: SignInProps) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = 'Sign in · Tabbat console'
    form.current?.querySelector('input')?.focus()
  }, [])
  const signIn = useDeed(async () => {
    const body = { name: name.trim().toLowerCase(), password }
    onEnter(await ask.post<Session>('/admin/session/sign-in', body))
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
        <Trouble error={signIn.error} />
        <DeedButton isBusy={signIn.isBusy}>Sign in</DeedButton>
        <small class="dim">
          No account yet? Whoever runs this server makes a one-time link with <code>tabbat admin invite</code>
          .
        </small>
      </form>
    </main>
  )
}
