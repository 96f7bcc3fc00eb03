import { useState } from 'preact/hooks'
import type { CurrentSession } from '../../../src/admin/shapes/session.ts'
import { sayPasswordOnly } from '../api-client.ts'
import { useAppContext } from '../app-context.ts'
import { SubmitButton } from '../components/dialog.tsx'
import { SecretField } from '../components/field.tsx'
import { findPasswordProblem, NewPassword } from '../components/new-password.tsx'
import { Facts, Panel, When } from '../components/pieces.tsx'
import { ErrorNote } from '../components/states.tsx'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'

export function Account() {
  const { api, session, recheck } = useAppContext()
  // The one that was found when the page was opened does not know what has been done since.
  const now = useQuery<CurrentSession>('/admin/session').value?.session ?? session
  const signOut = useMutation(async () => {
    await api.post('/admin/session/sign-out')
    recheck()
  })
  return (
    <>
      <Panel title="This session">
        <Facts
          facts={[
            ['Name', session.name],
            ['Role', session.role],
            ['Ends if you do nothing', <When key="idle" at={now.idle_until} />],
            ['Ends in any case', <When key="end" at={now.expires_at} />],
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
      <ChangePassword />
    </>
  )
}

function ChangePassword() {
  const { api, session } = useAppContext()
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [isDone, setDone] = useState(false)
  const change = useMutation(async () => {
    setDone(false)
    await api.post('/admin/session/password', { current, password }).catch(sayPasswordOnly)
    for (const empty of [setCurrent, setPassword, setAgain]) empty('')
    setDone(true)
  })
  const isReady = current !== '' && findPasswordProblem(password, again) === undefined
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
          again={again}
          onPassword={setPassword}
          onAgain={setAgain}
          error={change.error?.fields.password}
        />
        <ErrorNote error={change.error} />
        {isDone && (
          <p class="note good" role="status">
            The password is changed. Your other sessions have ended.
          </p>
        )}
        <SubmitButton isBusy={change.isBusy} isDisabled={!isReady}>
          Change password
        </SubmitButton>
      </form>
    </Panel>
  )
}
