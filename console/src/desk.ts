import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Session } from '../../src/admin/shapes/session.ts'
import type { Role } from '../../src/contract/role.ts'
import type { Ask } from './ask.ts'

/** What every room works with. */
export type Desk = {
  readonly ask: Ask
  readonly session: Session
  /** How often the server was away and came back: what is shown is asked for again then. */
  readonly returns: number
  /** Asks whether the session still stands; where it does not, the sign-in form comes. */
  readonly recheck: () => void
  /** Looks whether the server is there at all. */
  readonly suspect: () => void
}

export const DeskContext = createContext<Desk | undefined>(undefined)

export function useDesk(): Desk {
  const desk = useContext(DeskContext)
  if (!desk) throw new Error('There is no desk outside the rooms.')
  return desk
}

const RANKS: readonly Role[] = ['viewer', 'operator', 'owner']

/** Whether the person may do what needs this role. The server asks again; this only spares useless buttons. */
export function useMay(needed: Role): boolean {
  const { session } = useDesk()
  return RANKS.indexOf(session.role) >= RANKS.indexOf(needed)
}
