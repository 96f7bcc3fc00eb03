import { createContext } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'
import type { Session } from '../../src/admin/sessions.ts'
import type { Role } from '../../src/contract/role.ts'
import type { ApiClient } from './api-client.ts'

/** What every page needs. */
type AppState = {
  readonly api: ApiClient
  readonly session: Session
  /** The session has ended: the page is hidden below the sign-in form. */
  readonly isEnded: boolean
  /** How often the connection was restored. Queries reload when it changes. */
  readonly reconnects: number
  /** Checks whether the session has ended; if so, the sign-in form appears. */
  readonly recheckSession: () => void
  /** Checks whether the server can be reached. */
  readonly checkConnection: () => void
}

export const AppContext = createContext<AppState | undefined>(undefined)

export function useAppContext(): AppState {
  const state = useContext(AppContext)
  if (!state) throw new Error('AppContext is missing.')
  return state
}

/** Removes a secret from the page when the session ends, also one that arrives later. The sign-in form is in no session. */
export function useSecretEnd(remove: () => void): void {
  const isEnded = useContext(AppContext)?.isEnded ?? false
  useLayoutEffect(() => {
    if (isEnded) remove()
  }, [isEnded])
}

const RANKS: readonly Role[] = ['viewer', 'operator', 'owner']

/** Whether the account has this role. The server checks again; this only hides buttons that would fail. */
export function useHasRole(needed: Role): boolean {
  const { session } = useAppContext()
  return RANKS.indexOf(session.role) >= RANKS.indexOf(needed)
}
