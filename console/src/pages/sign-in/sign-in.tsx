import { useEffect, useRef, useState } from 'preact/hooks'
import type { CurrentSession, Session } from '../../../../src/admin/sessions.ts'
import type { ApiClient } from '../../api-client.ts'
import { useCode } from '../../components/code-field.tsx'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField, TextField } from '../../components/field.tsx'
import { Mark } from '../../components/mark.tsx'
import { toHash } from '../../hash.ts'
import { hasPasskeys, usePasskey } from '../../passkey.ts'
import { useMutation } from '../../use-mutation.ts'

const PROBLEMS: Readonly<Record<string, string>> = {
  sso_failed: 'The identity provider did not confirm the sign-in. Try again.',
  sso_expired: 'The sign-in took too long, or was begun in another browser. Try again.',
  sso_unavailable: 'The identity provider cannot be reached. Try again later, or sign in with a password.',
  sso_no_role: 'Your account at the identity provider has no role here. Ask an owner.',
  sso_name_taken:
    'Another account here has your name. Ask an owner to remove it, or to choose another claim for names.',
}

type SignInProps = {
  readonly api: ApiClient
  readonly onEnter: (session: Session) => void
  /** Why the form is shown. */
  readonly notice?: string
}

/** Shown instead of any page until the user has signed in. */
export function SignIn({ api, onEnter, notice }: SignInProps) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = `Sign in · Tabbat console`
    form.current?.querySelector('input')?.focus()
  }, [])
  const { codeField, withCode } = useCode()
  const signIn = useMutation(async () => {
    const body = { name: name.trim().toLowerCase(), password }
    await withCode(body, async (sent) => onEnter(await api.post<Session>('/admin/session/sign-in', sent)))
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
        {notice !== undefined && (
          <p class="note warn" role="status">
            {notice}
          </p>
        )}
        <TextField label="Name" value={name} onValue={setName} autocomplete="username" required />
        <SecretField
          label="Password"
          value={password}
          onValue={setPassword}
          autocomplete="current-password"
          required
        />
        {codeField}
        <ErrorNote error={signIn.error} />
        <SubmitButton isBusy={signIn.isBusy}>Sign in</SubmitButton>
        <OtherWays api={api} onEnter={onEnter} />
        <small class="dim">
          No account? Ask the operator of this server for a one-time link: <code>tabbat admin invite</code>.
        </small>
      </form>
    </main>
  )
}

/** Passkeys and single sign-on. */
function OtherWays({ api, onEnter }: SignInProps) {
  const [hasSso, setHasSso] = useState(false)
  const [problem] = useState(takeProblem)
  useEffect(() => {
    // If it fails, the password form is enough.
    api.get<CurrentSession>('/admin/session').then(
      (found) => setHasSso(found.has_sso),
      () => {},
    )
  }, [api])
  const passkey = useMutation(async () => {
    const response = await usePasskey(api, '/admin/session/passkey/begin')
    onEnter(await api.post<Session>('/admin/session/passkey/sign-in', { response }))
  })
  const text = PROBLEMS[problem]
  return (
    <>
      <ErrorNote error={passkey.error} />
      {hasPasskeys() && (
        <button type="button" disabled={passkey.isBusy} onClick={() => passkey.run()}>
          Sign in with a passkey
        </button>
      )}
      {isLoopbackAddress() && (
        <small class="dim">
          Passkeys need a name instead of an address: open <a href={toLocalhost()}>{toLocalhost()}</a>.
        </small>
      )}
      {hasSso && (
        <a class="button" href="/admin/sso/start">
          Sign in with single sign-on
        </a>
      )}
      {text !== undefined && (
        <div class="note bad" role="alert">
          <p>{text}</p>
        </div>
      )}
    </>
  )
}

const isLoopbackAddress = () => /^127\.|^\[::1\]$/.test(location.hostname)
const toLocalhost = () => `${location.protocol}//localhost:${location.port}/console`

/** `#/sign-in/sso_failed` is the address after a failed single sign-on. It is not a page. */
function takeProblem(): string {
  const [, problem = ''] = /^#\/sign-in\/(\w+)$/.exec(location.hash) ?? []
  if (problem !== '') history.replaceState(null, '', toHash('overview'))
  return problem
}
