import { AdminError } from '../contract/admin-error.ts'
import type { Exchange } from '../http/exchange.ts'

/** More than the tabs a person looks at: browsers open six connections to a host. */
const MOST_BY_SESSION = 8
const MOST_BY_ALL = 200

/** Counts the answers that are sent piece by piece, such as events and exports. Each of them costs a look every two seconds. */
export function createStreamLimit(): (session: string, exchange: Exchange) => void {
  const counts = new Map<string, number>()
  let all = 0
  const add = (session: string, change: number) => {
    const count = (counts.get(session) ?? 0) + change
    if (count > 0) counts.set(session, count)
    else counts.delete(session)
    all += change
  }
  return (session, { response }) => {
    if ((counts.get(session) ?? 0) >= MOST_BY_SESSION || all >= MOST_BY_ALL)
      throw new AdminError('too_many_streams')
    add(session, 1)
    response.once('close', () => add(session, -1))
  }
}
