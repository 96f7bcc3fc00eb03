import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { CurrentSession, Session } from '../../src/admin/shapes/session.ts'
import { type ApiError, createApiClient } from './api-client.ts'
import { AppContext } from './app-context.ts'
import { LoadError, Loading } from './components/states.tsx'
import { findPage } from './navigation.ts'
import { Invite } from './pages/invite.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { toHash, useRoute } from './route.ts'
import { Shell } from './shell.tsx'
import { useConnection } from './use-connection.ts'

/** Null: nobody has signed in. Undefined: not known yet. */
type Known = Session | null | undefined

export function App() {
  const route = useRoute()
  const [session, setSession] = useState<Known>()
  const [error, setError] = useState<ApiError>()
  const away = useConnection()
  const seenAt = useRef(Date.now())
  const { setAway } = away
  const api = useMemo(
    () =>
      createApiClient({
        onSignedOut: () => setSession(null),
        onUnreachable: () => setAway(true),
        onActivity: () => {
          seenAt.current = Date.now()
        },
      }),
    [setAway],
  )
  const recheck = useCallback(() => {
    api.get<CurrentSession>('/admin/session').then((found) => {
      setSession(found.session)
      setError(undefined)
    }, setError)
  }, [api])
  const isInvited = route.page === 'invite'
  useEffect(() => {
    // Whoever comes with a one-time link has no session to ask for.
    if (!isInvited) recheck()
  }, [recheck, away.returns, isInvited])
  useIdleEnd(session, seenAt, recheck)

  const enter = (found: Session) => {
    setSession(found)
    if (isInvited) location.hash = toHash('overview')
  }
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      {away.isAway && (
        <div class="banner" role="status">
          The server cannot be reached. Trying again…
        </div>
      )}
      {isInvited ? (
        <Invite api={api} token={route.rest} onEnter={enter} />
      ) : session === undefined ? (
        <Waiting error={away.isAway ? undefined : error} onRetry={recheck} />
      ) : session === null ? (
        <SignIn api={api} onEnter={enter} />
      ) : (
        <AppContext.Provider value={{ api, session, returns: away.returns, recheck, suspect: away.suspect }}>
          <Shell page={findPage(route.page, session.role)} rest={route.rest} />
        </AppContext.Provider>
      )}
    </>
  )
}

function Waiting({ error, onRetry }: { error: ApiError | undefined; onRetry: () => void }) {
  return (
    <main id="main" class="alone" tabIndex={-1}>
      <h1 class="unseen">Tabbat console</h1>
      {error ? <LoadError error={error} onRetry={onRetry} /> : <Loading />}
    </main>
  )
}

/** A button, for the address names the page: a link to an anchor would lead out of it. */
function skip(): void {
  document.getElementById('main')?.focus()
}

/** Nobody has done anything for as long as a session lives: asks once, and the sign-in form comes by itself. */
function useIdleEnd(session: Known, seenAt: { current: number }, recheck: () => void): void {
  useEffect(() => {
    if (!session) return
    const idleMs = Date.parse(session.idle_until) - Date.now()
    const endsAt = Date.parse(session.expires_at)
    const timer = setInterval(() => {
      const end = Math.min(seenAt.current + idleMs, endsAt)
      if (Date.now() < end + 2000) return
      clearInterval(timer)
      recheck()
    }, 5000)
    return () => clearInterval(timer)
  }, [session, seenAt, recheck])
}
