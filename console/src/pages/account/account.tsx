import { useState } from 'preact/hooks'
import type { CurrentSession } from '../../../../src/admin/sessions.ts'
import { rethrowPasswordError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { FactorPanel } from '../../components/factor-panel.tsx'
import { Facts } from '../../components/facts.tsx'
import { SecretField } from '../../components/field.tsx'
import { isPasswordReady, NewPassword } from '../../components/new-password.tsx'
import { Panel } from '../../components/panel.tsx'
import { OwnSessions } from '../../components/session-list.tsx'
import { When } from '../../components/when.tsx'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

export function Account() {
  const { api, session, recheckSession } = useAppContext()
  // Reloaded: the session in the context is from the start of the page.
  const current = useQuery<CurrentSession>('/admin/session').value?.session ?? session
  const signOut = useMutation(async () => {
    await api.post('/admin/session/sign-out')
    // Nothing of the session stays in the page.
    location.reload()
  })
  return (
    <>
      <Panel title="This session">
        <Facts
          facts={[
            ['Name', session.name],
            ['Role', session.role],
            ['Ends without activity', <When key="idle" at={current.idle_until} />],
            ['Ends at the latest', <When key="end" at={current.expires_at} />],
          ]}
        />
        <ErrorNote error={signOut.error} />
        <button
          type="button"
          disabled={signOut.isBusy}
          aria-busy={signOut.isBusy}
          onClick={() => signOut.run()}
        >
          Sign out
        </button>
      </Panel>
      <OwnSessions />
      {session.has_password && <FactorPanel onChange={recheckSession} />}
      {session.has_password && <ChangePassword />}
    </>
  )
}

function ChangePassword() {
  const { api, session } = useAppContext()
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [repeated, setRepeated] = useState('')
  const [isDone, setDone] = useState(false)
  const change = useMutation(async () => {
    setDone(false)
    await api.post('/admin/session/password', { current, password }).catch(rethrowPasswordError)
    for (const setField of [setCurrent, setPassword, setRepeated]) setField('')
    setDone(true)
  })
  const isReady = current !== '' && isPasswordReady(password, repeated)
  return (
    <Panel title="Change your password">
      <form
        class="narrow"
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) change.run()
        }}
      >
        <input type="text" name="username" autocomplete="username" value={session.name} readOnly hidden />
        <SecretField
          label="Current password"
          value={current}
          onValue={setCurrent}
          autocomplete="current-password"
          error={change.error?.fields.current}
        />
        <NewPassword
          password={password}
          repeated={repeated}
          onPassword={setPassword}
          onRepeated={setRepeated}
          error={change.error?.fields.password}
        />
        <ErrorNote error={change.error} />
        {isDone && (
          <p class="note good" role="status">
            Password changed. Your other sessions have ended.
          </p>
        )}
        <SubmitButton isBusy={change.isBusy} isDisabled={!isReady}>
          Change password
        </SubmitButton>
      </form>
    </Panel>
  )
}
