import { useEffect } from 'preact/hooks'
import { useAppContext } from '../app-context.ts'
import { ErrorNote } from '../components/error-note.tsx'
import { FactorPanel } from '../components/factor-panel.tsx'
import { Mark } from '../shell.tsx'
import { factorsTexts as texts } from '../texts/en/factors.ts'
import { shellTexts } from '../texts/en/shell.ts'
import { useMutation } from '../use-mutation.ts'

/** Shown instead of any page while an account lacks the second factor that its role requires. */
export function RequiredFactor() {
  const { api, session, recheckSession } = useAppContext()
  useEffect(() => {
    document.title = shellTexts.toTitle(texts.requiredTitle)
  }, [])
  const signOut = useMutation(async () => {
    await api.post('/admin/session/sign-out')
    recheckSession()
  })
  return (
    <main id="main" class="alone" tabIndex={-1}>
      <h1>
        <Mark /> {texts.requiredTitle}
      </h1>
      <p>{texts.requiredText(session.role)}</p>
      <FactorPanel onChange={recheckSession} />
      <ErrorNote error={signOut.error} />
      <button type="button" class="plain" disabled={signOut.isBusy} onClick={() => signOut.run()}>
        {texts.signOut}
      </button>
    </main>
  )
}
