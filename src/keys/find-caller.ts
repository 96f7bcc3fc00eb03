import { steadyNow } from '../contract/time.ts'
import { type Caller, toCaller } from './caller.ts'
import type { KeyRow } from './key-rows.ts'
import type { KeyTable } from './key-table.ts'
import { sandboxCaller } from './sandbox-key.ts'

type FindCallerOptions = {
  readonly keys: Pick<KeyTable, 'find'>
  readonly testKeys: boolean
  readonly publicSandboxKey: boolean
}

/** Rolls that are followed. */
const MAX_ROLLS = 100

/** Finds a key by its id, for work that its caller does not wait for. A key that was rolled and has expired is its successor. */
export const createFindCaller =
  ({ keys, testKeys, publicSandboxKey }: FindCallerOptions) =>
  async (keyId: string): Promise<Caller | undefined> => {
    if (keyId === sandboxCaller.keyId) return publicSandboxKey ? sandboxCaller : undefined
    const row = await findCurrent(keys, keyId)
    return row && (row.mode === 'live' || testKeys) ? toCaller(row) : undefined
  }

async function findCurrent(keys: Pick<KeyTable, 'find'>, keyId: string): Promise<KeyRow | undefined> {
  let row = await keys.find(keyId)
  for (let rolls = 0; row && isExpired(row) && rolls < MAX_ROLLS; rolls++)
    row = row.rolledTo === undefined ? undefined : await keys.find(row.rolledTo)
  return row && row.revokedAt === undefined && !isExpired(row) ? row : undefined
}

const isExpired = ({ expiresAt = Number.POSITIVE_INFINITY }: KeyRow) => expiresAt <= steadyNow()
