import { type ComponentChildren, render } from 'preact'
import { movePathToHash, type Route, useRoute } from './route.ts'
import './style.css'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { CurrentSession, Session } from '../../src/admin/sessions.ts'
import { IDLE_MS, TOUCH_EVERY_MS } from '../../src/contract/activity.ts'
import { DEMO_NOTICE } from '../../src/contract/demo.ts'
import { lastActivityAt } from './activity.ts'
import { type ApiError, createApiClient } from './api-client.ts'
import { AppContext } from './app-context.ts'
import { lazy } from './components/lazy.tsx'
import { LoadError, Loading } from './components/query-result.tsx'
import { toHash } from './hash.ts'
import { findPage } from './navigation.ts'
import { Shell } from './shell/shell.tsx'
import { applyTheme, readTheme } from './theme.ts'

const ConfirmIdentity = lazy(async () => (await import('./shell/confirm-identity.tsx')).ConfirmIdentity)
const Invite = lazy(async () => (await import('./pages/invite/invite.tsx')).Invite)
const SignIn = lazy(async () => (await import('./pages/sign-in/sign-in.tsx')).SignIn)
const RequiredFactor = lazy(
  async () => (await import('./pages/required-factor/required-factor.tsx')).RequiredFactor,
)

/** Null: not signed in. Undefined: not known yet. */
type SessionState = Session | null | undefined

function App() {
  const route = useRoute()
  const { session, setSession, ended, entries } = useSession()
  const [error, setError] = useState<ApiError>()
  const confirmation = useConfirmation()
  const connection = useConnection()
  const { setOffline } = connection
  const api = useMemo(
    () =>
      createApiClient({
        onSignedOut: () => setSession(null),
        onUnreachable: () => setOffline(true),
        onConfirm: confirmation.ask,
      }),
    [setOffline, confirmation.ask, setSession],
  )
  const recheckSession = useCallback(() => {
    api.get<CurrentSession>('/admin/session').then((found) => {
      setSession(found.session)
      setError(undefined)
    }, setError)
  }, [api, setSession])
  const isInvited = route.page === 'invite'
  useEffect(() => {
    // A visitor with a one-time link has no session yet.
    if (!isInvited) recheckSession()
  }, [recheckSession, connection.reconnects, isInvited])
  useIdleEnd(session, recheckSession)

  /** After its end, a page stays below the sign-in form with what was entered in it. */
  const shown = session ?? (ended && !PERSONAL_PAGES.includes(route.page) ? ended.session : undefined)
  const enter = (found: Session) => {
    setSession(found)
    if (isInvited) location.hash = toHash('overview')
  }
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to content
      </button>
      <DemoNotice />
      {connection.isOffline && (
        <div class="banner" role="status">
          The server cannot be reached. Trying again…
        </div>
      )}
      {isInvited ? (
        <Invite api={api} token={route.rest} onEnter={enter} />
      ) : session === undefined ? (
        <Starting error={connection.isOffline ? undefined : error} onRetry={recheckSession} />
      ) : (
        <>
          {session === null && (
            <Entry isOverPage={shown !== undefined}>
              <SignIn api={api} onEnter={enter} {...(ended ? { notice: toNotice(ended, shown) } : {})} />
            </Entry>
          )}
          {shown && (
            <div key={`${shown.name} ${shown.role}`} hidden={session === null}>
              <AppContext.Provider
                value={{
                  api,
                  session: shown,
                  isEnded: session === null,
                  reconnects: connection.reconnects + entries,
                  recheckSession,
                  checkConnection: connection.check,
                }}
              >
                <SignedIn route={route} session={shown} confirmation={confirmation} />
              </AppContext.Provider>
            </div>
          )}
        </>
      )}
    </>
  )
}

/** The server marks the page itself: see src/admin/page.ts. */
const DemoNotice = () =>
  document.documentElement.dataset.demo === undefined ? null : (
    <aside class="banner demo" aria-label="Demonstration">
      {DEMO_NOTICE}
    </aside>
  )

type SignedInProps = {
  readonly route: Route
  readonly session: Session
  readonly confirmation: Confirmation
}

const SignedIn = ({ route, session, confirmation }: SignedInProps) => (
  <>
    {session.must_set_up ? (
      <RequiredFactor />
    ) : (
      <Shell page={findPage(route.page, session.role)} rest={route.rest} />
    )}
    {confirmation.end && <ConfirmIdentity onEnd={confirmation.end} />}
  </>
)

/** They may show data of people, which do not stay in a browser after the session. */
const PERSONAL_PAGES = ['records', 'people', 'try', 'batches', 'audit']

type Ended = { readonly session: Session; readonly why: string }

/** The session, and after its end by itself what it was. */
function useSession() {
  const [session, setState] = useState<SessionState>()
  const [ended, setEnded] = useState<Ended>()
  const [entries, setEntries] = useState(0)
  const latest = useRef<SessionState>(undefined)
  const setSession = useCallback((found: Session | null) => {
    const before = latest.current
    latest.current = found
    setState(found)
    if (found === null && before) setEnded({ session: before, why: toReason(before) })
    // The streams of a page that stayed have ended.
    if (found && before === null) setEntries((count) => count + 1)
  }, [])
  return { session, setSession, ended, entries }
}

/** Another tab may have extended the session. */
const toIdleEnd = ({ idle_until }: Session) => Math.max(Date.parse(idle_until), lastActivityAt() + IDLE_MS)

function toReason(session: Session): string {
  if (Date.now() >= Date.parse(session.expires_at))
    return 'Your session ended, because you signed in 8 hours ago.'
  if (Date.now() >= toIdleEnd(session) - TOUCH_EVERY_MS)
    return 'Your session ended, because nothing was done for 15 minutes.'
  return 'Your session has ended: nothing was done for 15 minutes, it was ended elsewhere, or your role or password was changed.'
}

const toNotice = ({ why }: Ended, shown: Session | undefined) =>
  shown
    ? `${why} Sign in again: what you have entered is still there, except passwords and secrets.`
    : `${why} Sign in again. What was on the page was removed, because it may be about people.`

/** The sign-in form; over the page that stays, as a dialog, so that the dialogs of that page cannot be used. */
function Entry({ isOverPage, children }: { isOverPage: boolean; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    if (!isOverPage) return
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      // After the page is shown again.
      setTimeout(() => before instanceof HTMLElement && before.focus())
    }
  }, [isOverPage])
  if (!isOverPage) return <>{children}</>
  return (
    <dialog
      ref={dialog}
      class="entry"
      aria-label="Sign in"
      onCancel={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        // Browsers close a dialog on the second Escape, even if the first was prevented.
        if (event.key === 'Escape') event.preventDefault()
      }}
    >
      {children}
    </dialog>
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
function useIdleEnd(session: SessionState, recheckSession: () => void): void {
  useEffect(() => {
    if (!session) return
    const timer = setInterval(() => {
      const end = Math.min(toIdleEnd(session), Date.parse(session.expires_at))
      if (Date.now() < end + 2000) return
      clearInterval(timer)
      recheckSession()
    }, 5000)
    return () => clearInterval(timer)
  }, [session, recheckSession])
}

type End = (isConfirmed: boolean) => void

type Confirmation = {
  /** Resolves when the user has proved who it is, or has cancelled. */
  readonly ask: () => Promise<boolean>
  /** Set while the user is asked. */
  readonly end: End | undefined
}

/** A request was refused until the user proves again who it is. Of several at once, all wait for the same answer. */
function useConfirmation(): Confirmation {
  const [waiting, setWaiting] = useState<readonly End[]>([])
  const ask = useCallback(() => new Promise<boolean>((end) => setWaiting((others) => [...others, end])), [])
  const end = (isConfirmed: boolean) => {
    setWaiting([])
    for (const each of waiting) each(isConfirmed)
  }
  return { ask, end: waiting.length > 0 ? end : undefined }
}

const PAUSE_MS = 2000

const isReachable = () =>
  fetch('/health/live').then(
    ({ ok }) => ok,
    () => false,
  )

/** Whether the server can be reached. While it cannot, this checks every two seconds. */
function useConnection() {
  const [isOffline, setOffline] = useState(false)
  const [reconnects, setReconnects] = useState(0)
  useEffect(() => {
    if (!isOffline) return
    let timer: ReturnType<typeof setTimeout>
    const poll = async () => {
      if (!(await isReachable())) {
        timer = setTimeout(poll, PAUSE_MS)
        return
      }
      setOffline(false)
      setReconnects((count) => count + 1)
    }
    timer = setTimeout(poll, PAUSE_MS / 2)
    return () => clearTimeout(timer)
  }, [isOffline])
  /** For errors that do not say whether the server is down. */
  const check = useCallback(() => {
    isReachable().then((isUp) => isUp || setOffline(true))
  }, [])
  return { isOffline, reconnects, setOffline, check }
}

applyTheme(readTheme())
movePathToHash()
render(<App />, document.getElementById('page') as HTMLElement)
