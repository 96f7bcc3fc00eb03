import { useEffect, useState } from 'preact/hooks'
import type { Invitation, Session } from '../../../src/admin/shapes/session.ts'
import { type ApiClient, ApiError } from '../api-client.ts'
import { SubmitButton } from '../components/dialog.tsx'
import { TextField } from '../components/field.tsx'
import { findPasswordProblem, NewPassword } from '../components/new-password.tsx'
import { ErrorNote, LoadError, Loading } from '../components/states.tsx'
import { toMoment, toZone } from '../format.ts'
import { toHash } from '../route.ts'
import { Mark } from '../shell.tsx'
import { useMutation } from '../use-mutation.ts'

type InviteProps = {
  readonly api: ApiClient
  readonly token: string
  readonly onEnter: (session: Session) => void
}

export function Invite({ api, token, onEnter }: InviteProps) {
  const [invitation, setInvitation] = useState<Invitation>()
  const [error, setError] = useState<ApiError>()
  useEffect(() => {
    document.title = 'Welcome · Tabbat console'
    if (token === '')
      setError(new ApiError(0, 'no_token', 'Open your link again: it is not kept by this page.'))
    else api.post<Invitation>('/admin/invitations/inspect', { token }).then(setInvitation, setError)
  }, [api, token])
  return (
    <main id="main" class="alone" tabIndex={-1}>
      <div class="panel">
        <h1>
          <Mark /> {invitation?.name ? 'A new password' : 'Welcome to Tabbat'}
        </h1>
        {error && (
          <>
            <LoadError error={toPlainError(error)} />
            <a href={toHash('overview')}>Go to the sign-in form</a>
          </>
        )}
        {!error && !invitation && <Loading lines={3} />}
        {invitation && <AcceptForm api={api} token={token} invitation={invitation} onEnter={onEnter} />}
      </div>
    </main>
  )
}

/** A link that was cut off when it was copied is not the fault of a field. */
const toPlainError = (error: ApiError): ApiError =>
  error.code === 'validation_failed' ? Object.assign(error, { message: 'This link is not whole.' }) : error

function AcceptForm({ api, token, invitation, onEnter }: InviteProps & { invitation: Invitation }) {
  const [name, setName] = useState(invitation.name ?? '')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const accept = useMutation(async () => {
    const body = { token, name: name.trim(), password }
    onEnter(await api.post<Session>('/admin/invitations/accept', body))
  })
  const { fields = {} } = accept.error ?? {}
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!findPasswordProblem(password, again)) accept.run()
      }}
    >
      <p class="dim">
        {invitation.name
          ? `This link sets a new password for ${invitation.name}.`
          : `You are invited as ${invitation.role}. Choose a name and a password.`}{' '}
        It can be used once, until {toMoment(invitation.expires_at)}, {toZone()}.
      </p>
      <TextField
        label="Name"
        value={name}
        onValue={setName}
        readOnly={invitation.name !== null}
        autocomplete="username"
        autocapitalize="none"
        help={invitation.name ? undefined : 'Lower-case letters, digits, dots, hyphens; 2 to 40 of them.'}
        error={fields.name}
        required
      />
      <NewPassword
        password={password}
        again={again}
        onPassword={setPassword}
        onAgain={setAgain}
        error={fields.password}
      />
      <ErrorNote error={accept.error} />
      <SubmitButton isBusy={accept.isBusy} isDisabled={findPasswordProblem(password, again) !== undefined}>
        {invitation.name ? 'Set password and sign in' : 'Create account'}
      </SubmitButton>
    </form>
  )
}
