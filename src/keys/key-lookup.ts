import { isStoreFailure } from '../database/failure.ts'
import type { KeyRow } from './key-rows.ts'
import type { KeyTable } from './key-table.ts'

/** A row, and when it was read, on the monotonic clock. */
export type FoundKey = { readonly row: KeyRow | undefined; readonly at: number }

type KeyLookup = {
  /** `isTrusted`: the secret was correct before, so the look-up does not queue behind unknown credentials. */
  readonly find: (id: string, isTrusted: boolean) => Promise<FoundKey>
}

/** Concurrent look-ups of unknown credentials: they never take all connections of the store. */
const MAX_UNTRUSTED = 4

/** Loads the rows of keys. Requests that need the same row at the same time share one look-up. */
export function createKeyLookup(keys: Pick<KeyTable, 'find'>, now: () => number): KeyLookup {
  const underWay = new Map<string, Promise<FoundKey>>()
  let waiting: { readonly enter: () => void; readonly refuse: (error: unknown) => void }[] = []
  let untrusted = 0

  const load = async (id: string): Promise<FoundKey> => {
    // Taken before the query: a key may be revoked while it runs.
    const at = now()
    return { row: await keys.find(id), at }
  }
  const loadInTurn = async (id: string): Promise<FoundKey> => {
    if (untrusted < MAX_UNTRUSTED) untrusted += 1
    else await new Promise<void>((enter, refuse) => waiting.push({ enter, refuse }))
    try {
      return await load(id)
    } catch (error) {
      if (isStoreFailure(error)) refuseWaiting(error)
      throw error
    } finally {
      const next = waiting.shift()
      if (next) next.enter()
      else untrusted -= 1
    }
  }
  /** Queued look-ups fail with the first store failure; otherwise they would time out one after another. */
  const refuseWaiting = (error: unknown) => {
    const refused = waiting
    waiting = []
    for (const { refuse } of refused) refuse(error)
  }
  return {
    find: (id, isTrusted) => {
      const name = `${isTrusted} ${id}`
      const known = underWay.get(name)
      if (known) return known
      const work = isTrusted ? load(id) : loadInTurn(id)
      const found = work.finally(() => underWay.delete(name))
      underWay.set(name, found)
      return found
    },
  }
}
