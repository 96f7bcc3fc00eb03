import { useEffect } from 'preact/hooks'
import { useAppContext } from '../../app-context.ts'
import { ErrorNote } from '../../components/error-note.tsx'
import { FactorPanel } from '../../components/factor-panel.tsx'
import { Mark } from '../../components/mark.tsx'
import { useMutation } from '../../use-mutation.ts'

/** Shown instead of any page while an account lacks the second factor that its role requires. */
export function RequiredFactor() {
  const { api, session, recheckSession } = useAppContext()
  useEffect(() => {
    document.title = `Set up a second factor · Tabbat console`
  }, [])
  const signOut = useMutation(async () => {
    await api.post('/admin/session/sign-out')
    // Nothing of the session stays in the page.
    location.reload()
  })
  return (
    <main id="main" class="alone" tabIndex={-1}>
      <h1>
        <Mark /> Set up a second factor
      </h1>
      <p>Accounts with the role {session.role} must have a second factor. Set one up to continue.</p>
      <FactorPanel onChange={recheckSession} />
      <ErrorNote error={signOut.error} />
      <button type="button" class="plain" disabled={signOut.isBusy} onClick={() => signOut.run()}>
        Sign out
      </button>
    </main>
  )
}
