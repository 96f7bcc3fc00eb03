import { AdminError } from '../contract/admin-error.ts'
import type { Exchange } from '../http/exchange.ts'

/** Browsers open at most six HTTP/1.1 connections to a host. */
const MOST_PER_SESSION = 8
const MOST_IN_TOTAL = 200

/** Limits open streams (events and exports), because each event stream polls every two seconds. */
export function createStreamLimit(): (session: string, exchange: Exchange) => void {
  const counts = new Map<string, number>()
  let total = 0
  const add = (session: string, change: number) => {
    const count = (counts.get(session) ?? 0) + change
    if (count > 0) counts.set(session, count)
    else counts.delete(session)
    total += change
  }
  return (session, { response }) => {
    if ((counts.get(session) ?? 0) >= MOST_PER_SESSION || total >= MOST_IN_TOTAL)
      throw new AdminError('too_many_streams')
    add(session, 1)
    response.once('close', () => add(session, -1))
  }
}
