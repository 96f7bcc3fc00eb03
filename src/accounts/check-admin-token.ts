import { type KeyObject, timingSafeEqual } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { Actor } from '../contract/role.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { createAddressRule } from '../keys/address-rule.ts'
import { toKeyHash } from '../keys/api-key.ts'
import { createBoundedMap } from '../keys/bounded-map.ts'
import { createRateLimit } from '../keys/rate-limit.ts'
import type { Log } from '../telemetry/log.ts'
import { parseAdminToken } from './admin-token.ts'
import type { AdminTokenRow, AdminTokenTable } from './admin-token-table.ts'
import { toAdminTokenState } from './admin-token-view.ts'
import { toTokenName } from './admin-tokens.ts'
import { toTooManyTries } from './throttle.ts'

type Deps = {
  readonly table: Pick<AdminTokenTable, 'find' | 'touch'>
  readonly pepper: () => KeyObject
  readonly audit: Pick<AuditLog, 'record'>
  readonly log: Pick<Log, 'failure'>
  readonly now?: () => number
}

/** The token as an actor. Throws `token_refused`, `address_refused` or `too_many_tries`. */
export type CheckAdminToken = (text: string, address: string) => Promise<Actor>

/** Tokens from an address in a minute that were not right before, in this process. */
const UNKNOWN_PER_MINUTE = 30
const MOST_KNOWN = 1000
/** The last use is stored at most this often. */
const TOUCH_EVERY_MS = MINUTE_MS

/** Every request reads the row, so that a revoked token ends at once on all nodes. */
export function createCheckAdminToken({ table, pepper, audit, log, now }: Deps): CheckAdminToken {
  // A token that was right before is not counted: wrong ones from the same address must not stop it.
  const known = createBoundedMap<string, true>(MOST_KNOWN)
  const unknown = createRateLimit(UNKNOWN_PER_MINUTE, now)
  const refusals = createRateLimit(1, now)

  /** At most one row a minute for a token and a reason. */
  const recordRefusal = async (id: string, outcome: string) => {
    if (refusals.take(`${id} ${outcome}`).allowed)
      await audit.record([{ phase: 'token_refused', outcome, detail: toTokenName(id) }]).catch(log.failure)
  }
  const touch = async ({ id, lastUsedAt = 0 }: AdminTokenRow) => {
    const at = steadyNow()
    // Reading must work while nothing can be written, for example on a full disk.
    if (at - lastUsedAt >= TOUCH_EVERY_MS) await table.touch(id, at).catch(() => {})
  }

  const requireFew = (name: string, address: string) => {
    if (known.get(name)) return
    const { allowed, resetS } = unknown.take(address)
    if (!allowed) throw toTooManyTries(resetS * 1000)
  }
  /** The row of a token that is right and has not ended. */
  const findRow = async (text: string, address: string): Promise<AdminTokenRow> => {
    const token = parseAdminToken(text)
    const hash = toKeyHash(text, pepper())
    const name = hash.toString('base64')
    requireFew(name, address)
    const row = token && (await table.find(token.id))
    const problem = row && findProblem(row, hash)
    if (row && !problem) {
      known.set(name, true)
      return row
    }
    known.delete(name)
    if (row && problem) await recordRefusal(row.id, problem)
    throw new AdminError('token_refused', { headers: ['www-authenticate', 'Bearer'] })
  }

  return async (text, address) => {
    const row = await findRow(text, address)
    const name = toTokenName(row.id)
    if (!createAddressRule(row.allowedIps)(address)) {
      await recordRefusal(row.id, 'wrong_address')
      throw new AdminError('address_refused')
    }
    await touch(row)
    return { name, role: row.role, session: name, token: row.id }
  }
}

function findProblem(row: AdminTokenRow, hash: Uint8Array): string | undefined {
  if (!timingSafeEqual(hash, row.hash)) return 'wrong_secret'
  const state = toAdminTokenState(row)
  return state === 'active' ? undefined : state
}
