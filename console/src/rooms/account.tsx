import { useState } from 'preact/hooks'
import type { CurrentSession } from '../../../src/admin/shapes/session.ts'
import { sayPasswordOnly } from '../ask.ts'
import { useDesk } from '../desk.ts'
import { DeedButton } from '../parts/dialog.tsx'
import { SecretField } from '../parts/field.tsx'
import { NewPassword, toPasswordTrouble } from '../parts/new-password.tsx'
import { Facts, Panel, When } from '../parts/pieces.tsx'
import { Trouble } from '../parts/states.tsx'
import { useAnswer } from '../use-answer.ts'
import { useDeed } from '../use-deed.ts'

export function Account() {
  const { ask, session, recheck } = useDesk()
  // The one that was found when the page was opened does not know what has been done since.
  const now = useAnswer<CurrentSession>('/admin/session').value?.session ?? session
  const signOut = useDeed(async () => {
    await ask.post('/admin/session/sign-out')
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
        <Trouble error={signOut.error} />
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
  const { ask, session } = useDesk()
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [isDone, setDone] = useState(false)
  const change = useDeed(async () => {
    setDone(false)
    await ask.post('/admin/session/password', { current, password }).catch(sayPasswordOnly)
    for (const empty of [setCurrent, setPassword, setAgain]) empty('')
    setDone(true)
  })
  const isReady = current !== '' && toPasswordTrouble(password, again) === undefined
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
        <Trouble error={change.error} />
        {isDone && (
          <p class="note good" role="status">
            The password is changed. Your other sessions have ended.
          </p>
        )}
        <DeedButton isBusy={change.isBusy} isDisabled={!isReady}>
          Change password
        </DeedButton>
      </form>
    </Panel>
  )
}
