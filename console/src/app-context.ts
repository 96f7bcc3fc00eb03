import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Session } from '../../src/admin/shapes/session.ts'
import type { Role } from '../../src/contract/role.ts'
import type { ApiClient } from './api-client.ts'

/** What every page works with. */
export type AppState = {
  readonly api: ApiClient
  readonly session: Session
  /** How often the server was away and came back: what is shown is asked for again then. */
  readonly returns: number
  /** Asks whether the session still stands; where it does not, the sign-in form comes. */
  readonly recheck: () => void
  /** Looks whether the server is there at all. */
  readonly suspect: () => void
}

export const AppContext = createContext<AppState | undefined>(undefined)

export function useAppContext(): AppState {
  const desk = useContext(AppContext)
  if (!desk) throw new Error('There is no desk outside the rooms.')
  return desk
}

const RANKS: readonly Role[] = ['viewer', 'operator', 'owner']

/** Whether the person may do what needs this role. The server asks again; this only spares useless buttons. */
export function useHasRole(needed: Role): boolean {
  const { session } = useAppContext()
  return RANKS.indexOf(session.role) >= RANKS.indexOf(needed)
}
