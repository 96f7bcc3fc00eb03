import type { SignInMethod } from '../contract/role.ts'
import type { Database } from '../database/database.ts'
import { UserError } from '../errors.ts'

/** The account row first, as in all transactions of accounts. Without it, a removed account would get a factor. */
export async function lockAccount(tx: Database, account: string): Promise<void> {
  const found = await tx.prepare('UPDATE accounts SET role = role WHERE name = $1').run(account)
  if (found === 0) throw new UserError('This account has been removed.')
}

/** What was right: the time step of the authenticator app, the hash of a recovery code, or the id of a passkey. */
export type FactorUse =
  | { readonly step: number }
  | { readonly recoveryHash: string }
  | { readonly passkey: string }

/**
 * Uses a code up, in the transaction of what it is for: a request that is refused uses none. False when it was used before:
 * of two at once, one wins. A passkey must still belong to the account.
 */
export async function useFactor(tx: Database, account: string, use: FactorUse): Promise<boolean> {
  if ('passkey' in use) {
    const find = tx.prepare('SELECT id FROM passkeys WHERE account = $1 AND id = $2')
    return (await find.get(account, use.passkey)) !== undefined
  }
  const used = await ('step' in use
    ? tx
        .prepare('UPDATE totp_secrets SET last_step = $2 WHERE account = $1 AND last_step < $2')
        .run(account, use.step)
    : tx
        .prepare('DELETE FROM recovery_codes WHERE account = $1 AND hash = $2')
        .run(account, use.recoveryHash))
  return used > 0
}

/** Whether recovery codes were stored. */
export type AddedFactor = { readonly hasNewCodes: boolean }

/** Stores recovery codes if the account has none. */
export async function insertFirstCodes(
  tx: Database,
  account: string,
  hashes: readonly string[],
): Promise<AddedFactor> {
  const has = await tx.prepare('SELECT hash FROM recovery_codes WHERE account = $1 LIMIT 1').get(account)
  if (!has) await insertCodes(tx, account, hashes)
  return { hasNewCodes: !has }
}

export async function insertCodes(tx: Database, account: string, hashes: readonly string[]): Promise<void> {
  const insert = tx.prepare('INSERT INTO recovery_codes (account, hash) VALUES ($1, $2)')
  for (const hash of hashes) await insert.run(account, hash)
}

export const deleteCodes = (tx: Database, account: string): Promise<number> =>
  tx.prepare('DELETE FROM recovery_codes WHERE account = $1').run(account)

export const LAST_FACTOR =
  'Your role requires a second factor, and this is the last one. Add another one first.'

/**
 * After a factor was removed. Without one, recovery codes are of no use. If the role requires a factor, the removal of the
 * last one is refused: of two removals at once, the second waits for the lock of the account.
 */
export async function finishRemoval(tx: Database, account: string, isRequired: boolean): Promise<void> {
  if (await hasFactor(tx, account)) return
  if (isRequired) throw new UserError(LAST_FACTOR)
  await deleteCodes(tx, account)
}

/** Whether the account has a second factor. Ask after its row is locked: one may be added at the same moment. */
export async function hasFactor(tx: Database, account: string): Promise<boolean> {
  const row = await tx
    .prepare(
      'SELECT account FROM totp_secrets WHERE account = $1 UNION ALL SELECT account FROM passkeys WHERE account = $1 LIMIT 1',
    )
    .get(account)
  return row !== undefined
}

/** The session that has set up a second factor, and the hash that binds it to its new method: see sessions.ts. */
export type KeptSession = { readonly session: Uint8Array; readonly sessionMac?: Uint8Array | undefined }

/** Sessions that were opened without the factor end. The one that is kept may have ended meanwhile itself. */
export async function keepSession(
  tx: Database,
  account: string,
  { session, sessionMac }: KeptSession,
  method: SignInMethod,
): Promise<void> {
  await tx.prepare('DELETE FROM sessions WHERE account = $1 AND id <> $2').run(account, session)
  const kept = await tx
    .prepare('UPDATE sessions SET method = $2, mac = $3 WHERE id = $1')
    .run(session, method, sessionMac ?? null)
  if (kept === 0) throw new UserError('Your session has ended. Sign in again. Nothing was changed.')
}
