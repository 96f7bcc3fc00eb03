import type { Context } from '../context.ts'
import type { Person } from './role.ts'

/** Accounts, invitations and sessions. */
export type People = {
  /** Who holds this cookie, if the session has not ended; `isBackground` questions do not keep it alive. */
  readonly findPerson: (token: string, options: { isBackground: boolean }) => Promise<Person | undefined>
}

export const createPeople = (_context: Context): People => ({ findPerson: async () => undefined })
