import { useEffect, useState } from 'preact/hooks'
import type { Invitation, Session } from '../../../../src/admin/sessions.ts'
import { type ApiClient, ApiError } from '../../api-client.ts'
import { useCode } from '../../components/code-field.tsx'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { Mark } from '../../components/mark.tsx'
import { isPasswordReady, NewPassword } from '../../components/new-password.tsx'
import { LoadError, Loading } from '../../components/query-result.tsx'
import { toMoment, toZone } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useMutation } from '../../use-mutation.ts'

type InviteProps = {
  readonly api: ApiClient
  readonly token: string
  readonly onEnter: (session: Session) => void
}

export function Invite({ api, token, onEnter }: InviteProps) {
  const [invitation, setInvitation] = useState<Invitation>()
  const [error, setError] = useState<ApiError>()
  useEffect(() => {
    document.title = 'One-time link · Tabbat console'
    if (token === '')
      setError(new ApiError(0, 'no_token', 'This page does not store the link. Open the link again.'))
    else api.post<Invitation>('/admin/invitations/inspect', { token }).then(setInvitation, setError)
  }, [api, token])
  return (
    <main id="main" class="alone" tabIndex={-1}>
      <div class="panel">
        <h1>
          <Mark /> {invitation?.name ? 'Set a new password' : 'Create your account'}
        </h1>
        {error && (
          <>
            <LoadError error={toLinkError(error)} />
            <a href={toHash('overview')}>Sign in instead</a>
          </>
        )}
        {!error && !invitation && <Loading lines={3} />}
        {invitation && <AcceptForm api={api} token={token} invitation={invitation} onEnter={onEnter} />}
      </div>
    </main>
  )
}

/** The token is the only input here, so an invalid field means an incomplete link. */
const toLinkError = (error: ApiError): ApiError =>
  error.code === 'validation_failed'
    ? Object.assign(error, { message: 'This link is incomplete. Copy the whole link.' })
    : error

function AcceptForm({ api, token, invitation, onEnter }: InviteProps & { invitation: Invitation }) {
  const [name, setName] = useState(invitation.name ?? '')
  const [password, setPassword] = useState('')
  const [repeated, setRepeated] = useState('')
  const { codeField, withCode } = useCode()
  const accept = useMutation(async () => {
    const body = { token, name: name.trim(), password }
    await withCode(body, async (sent) => onEnter(await api.post<Session>('/admin/invitations/accept', sent)))
  })
  const { fields = {} } = accept.error ?? {}
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isPasswordReady(password, repeated)) accept.run()
      }}
    >
      <p class="dim">
        {invitation.name
          ? `This link sets a new password for ${invitation.name}.`
          : `You are invited as ${invitation.role}. Choose a name and a password.`}{' '}
        The link works once, until {toMoment(invitation.expires_at)}, {toZone()}.
      </p>
      <TextField
        label="Name"
        value={name}
        onValue={setName}
        readOnly={invitation.name !== null}
        autocomplete="username"
        autocapitalize="none"
        help={
          invitation.name ? undefined : '2 to 40 lower-case letters, digits, dots, hyphens or underscores.'
        }
        error={fields.name}
        required
      />
      <NewPassword
        password={password}
        repeated={repeated}
        onPassword={setPassword}
        onRepeated={setRepeated}
        error={fields.password}
      />
      {codeField}
      <ErrorNote error={accept.error} />
      <SubmitButton isBusy={accept.isBusy} isDisabled={!isPasswordReady(password, repeated)}>
        {invitation.name ? 'Set password and sign in' : 'Create account'}
      </SubmitButton>
    </form>
  )
}
