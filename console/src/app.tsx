import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { CurrentSession, Session } from '../../src/admin/sessions.ts'
import { type ApiError, createApiClient } from './api-client.ts'
import { AppContext } from './app-context.ts'
import { lazy } from './components/lazy.tsx'
import { LoadError, Loading } from './components/query-result.tsx'
import { toHash } from './hash.ts'
import { findPage } from './navigation.ts'
import { useRoute } from './route.ts'
import { Shell } from './shell/shell.tsx'
import { useConfirmation } from './use-confirmation.ts'
import { useConnection } from './use-connection.ts'

const ConfirmIdentity = lazy(async () => (await import('./shell/confirm-identity.tsx')).ConfirmIdentity)
const Invite = lazy(async () => (await import('./pages/invite/invite.tsx')).Invite)
const SignIn = lazy(async () => (await import('./pages/sign-in/sign-in.tsx')).SignIn)
const RequiredFactor = lazy(
  async () => (await import('./pages/required-factor/required-factor.tsx')).RequiredFactor,
)

/** Null: not signed in. Undefined: not known yet. */
type SessionState = Session | null | undefined

export function App() {
  const route = useRoute()
  const [session, setSession] = useState<SessionState>()
  const [error, setError] = useState<ApiError>()
  const confirmation = useConfirmation()
  const connection = useConnection()
  const lastActivityAt = useRef(Date.now())
  const { setOffline } = connection
  const api = useMemo(
    () =>
      createApiClient({
        onSignedOut: () => setSession(null),
        onUnreachable: () => setOffline(true),
        onActivity: () => {
          lastActivityAt.current = Date.now()
        },
        onConfirm: confirmation.ask,
      }),
    [setOffline, confirmation.ask],
  )
  const recheckSession = useCallback(() => {
    api.get<CurrentSession>('/admin/session').then((found) => {
      setSession(found.session)
      setError(undefined)
    }, setError)
  }, [api])
  const isInvited = route.page === 'invite'
  useEffect(() => {
    // A visitor with a one-time link has no session yet.
    if (!isInvited) recheckSession()
  }, [recheckSession, connection.reconnects, isInvited])
  useIdleEnd(session, lastActivityAt, recheckSession)

  const enter = (found: Session) => {
    setSession(found)
    if (isInvited) location.hash = toHash('overview')
  }
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to content
      </button>
      {connection.isOffline && (
        <div class="banner" role="status">
          The server cannot be reached. Trying again…
        </div>
      )}
      {isInvited ? (
        <Invite api={api} token={route.rest} onEnter={enter} />
      ) : session === undefined ? (
        <Starting error={connection.isOffline ? undefined : error} onRetry={recheckSession} />
      ) : session === null ? (
        <SignIn api={api} onEnter={enter} />
      ) : (
        <AppContext.Provider
          value={{
            api,
            session,
            reconnects: connection.reconnects,
            recheckSession,
            checkConnection: connection.check,
          }}
        >
          {session.must_set_up ? (
            <RequiredFactor />
          ) : (
            <Shell page={findPage(route.page, session.role)} rest={route.rest} />
          )}
          {confirmation.end && <ConfirmIdentity onEnd={confirmation.end} />}
        </AppContext.Provider>
      )}
    </>
  )
}

function Starting({ error, onRetry }: { error: ApiError | undefined; onRetry: () => void }) {
  return (
    <main id="main" class="alone" tabIndex={-1}>
      <h1 class="visually-hidden">Tabbat console</h1>
      {error ? <LoadError error={error} onRetry={onRetry} /> : <Loading />}
    </main>
  )
}

/** A button instead of an anchor link, because the hash of the URL names the page. */
function skip(): void {
  document.getElementById('main')?.focus()
}

/** Checks the session once its time without activity is over, so that the sign-in form appears by itself. */
function useIdleEnd(
  session: SessionState,
  lastActivityAt: { current: number },
  recheckSession: () => void,
): void {
  useEffect(() => {
    if (!session) return
    const idleMs = Date.parse(session.idle_until) - Date.now()
    const endsAt = Date.parse(session.expires_at)
    const timer = setInterval(() => {
      const end = Math.min(lastActivityAt.current + idleMs, endsAt)
      if (Date.now() < end + 2000) return
      clearInterval(timer)
      recheckSession()
    }, 5000)
    return () => clearInterval(timer)
  }, [session, lastActivityAt, recheckSession])
}
